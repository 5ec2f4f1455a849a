; What kernel.py calls to time launches and to empty the caches.

declare i32 @clock_gettime(i32, ptr)
declare void @llvm.x86.clflushopt(ptr)
declare void @llvm.x86.sse2.mfence()

define internal i64 @now() {
  %time = alloca [2 x i64], align 8
  %ignored = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}

; launches `number` times, operands taken from the rows of a table in turn; nanoseconds
define i64 @time_launches(ptr %kernel, ptr %table, i64 %rows, i64 %row_bytes, i64 %first, i64 %number) {
entry:
  %begin = call i64 @now()
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %row = phi i64 [ %first, %entry ], [ %wrapped, %loop ]
  %offset = mul i64 %row, %row_bytes
  %operands = getelementptr i8, ptr %table, i64 %offset
  call void %kernel(ptr %operands)
  %row_next = add i64 %row, 1
  %at_end = icmp eq i64 %row_next, %rows
  %wrapped = select i1 %at_end, i64 0, i64 %row_next
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %number
  br i1 %again, label %loop, label %exit
exit:
  %end = call i64 @now()
  %elapsed = sub i64 %end, %begin
  ret i64 %elapsed
}

; lines of 64 bytes from all caches: the body of a parallel loop, see parallel.py
define void @flush(ptr %memory, i64 %begin, i64 %end) #0 {
entry:
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %loop, label %exit
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %byte = shl i64 %i, 6
  %line = getelementptr i8, ptr %memory, i64 %byte
  call void @llvm.x86.clflushopt(ptr %line)
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %end
  br i1 %again, label %loop, label %exit
exit:
  call void @llvm.x86.sse2.mfence()
  ret void
}

; lines of 64 bytes written as they are, so that they are this core's: the body of a parallel loop
define void @rewrite(ptr %memory, i64 %begin, i64 %end) {
entry:
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %loop, label %exit
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %byte = shl i64 %i, 6
  %line = getelementptr i8, ptr %memory, i64 %byte
  %word = load volatile i8, ptr %line
  store volatile i8 %word, ptr %line
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %end
  br i1 %again, label %loop, label %exit
exit:
  ret void
}

attributes #0 = { "target-features"="+sse2,+clflushopt" }

; The thread pool. parallel.py says how it works and why.

@busy = internal global i32 0, align 64
@gate = internal global i64 0, align 64        ; bit 32: open; below: participants inside
@fn = internal global ptr null, align 64
@context = internal global ptr null
@participants = internal global i64 0
@started = internal global i64 0, align 64
@stopping = internal global i32 0
@cpu_count = internal global i64 0
@cpus = internal global [1024 x i32] zeroinitializer      ; the caller's, then those of the workers
@handles = internal global [256 x i64] zeroinitializer
@slots = internal global [256 x [16 x i32]] zeroinitializer, align 64   ; of a worker: signal, asleep, thread id
@ranges = internal global [256 x [8 x i64]] zeroinitializer, align 64   ; of a participant: next, end, chunk

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @sched_yield()
declare i32 @sched_getcpu()
declare i32 @gettid()
declare i64 @syscall(i64, ...)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.readcyclecounter()
declare void @llvm.x86.sse2.pause()
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

define void @tw_configure(ptr %list, i64 %count) {
  %few = call i64 @llvm.smin.i64(i64 %count, i64 1024)
  %bytes = mul i64 %few, 4
  call void @llvm.memcpy.p0.p0.i64(ptr @cpus, ptr %list, i64 %bytes, i1 false)
  store i64 %few, ptr @cpu_count
  ret void
}

; one's own range first, then what is left of the others'
define internal void @take_part(i64 %me) {
entry:
  %fn = load ptr, ptr @fn
  %context = load ptr, ptr @context
  %all = load i64, ptr @participants
  br label %range
range:
  %turn = phi i64 [ 0, %entry ], [ %turn_next, %done ]
  %sum = add i64 %me, %turn
  %who = urem i64 %sum, %all
  %next_at = getelementptr [8 x i64], ptr @ranges, i64 %who
  %end_at = getelementptr i64, ptr %next_at, i64 1
  %chunk_at = getelementptr i64, ptr %next_at, i64 2
  %end = load i64, ptr %end_at
  %chunk = load i64, ptr %chunk_at
  br label %look
look:
  %seen = load atomic i64, ptr %next_at monotonic, align 8
  %left = icmp slt i64 %seen, %end
  br i1 %left, label %take, label %done
take:
  %begin = atomicrmw add ptr %next_at, i64 %chunk monotonic
  %got = icmp slt i64 %begin, %end
  br i1 %got, label %run, label %done
run:
  %limit = add i64 %begin, %chunk
  %stop = call i64 @llvm.smin.i64(i64 %limit, i64 %end)
  call void %fn(ptr %context, i64 %begin, i64 %stop)
  br label %look
done:
  %turn_next = add i64 %turn, 1
  %more = icmp slt i64 %turn_next, %all
  br i1 %more, label %range, label %exit
exit:
  ret void
}

define internal void @pin(i32 %thread, i32 %cpu32) {
  %set = alloca [128 x i8], align 8
  call void @llvm.memset.p0.i64(ptr %set, i8 0, i64 128, i1 false)
  %cpu = zext i32 %cpu32 to i64
  %byte = lshr i64 %cpu, 3
  %bit = and i64 %cpu, 7
  %bit8 = trunc i64 %bit to i8
  %mask = shl i8 1, %bit8
  %byte_at = getelementptr i8, ptr %set, i64 %byte
  store i8 %mask, ptr %byte_at
  %ignored = call i32 @sched_setaffinity(i32 %thread, i64 128, ptr %set)
  ret void
}

; the caller's CPU is the first of the list; where it has become another, the worker that had it gets the first
define internal void @make_room() {
entry:
  %cpu = call i32 @sched_getcpu()
  %home = load i32, ptr @cpus
  %same = icmp eq i32 %cpu, %home
  %count = load i64, ptr @cpu_count
  br i1 %same, label %exit, label %search
search:
  %i = phi i64 [ 1, %entry ], [ %next, %other ]
  %left = icmp slt i64 %i, %count
  br i1 %left, label %compare, label %exit
compare:
  %at = getelementptr i32, ptr @cpus, i64 %i
  %its = load i32, ptr %at
  %found = icmp eq i32 %its, %cpu
  br i1 %found, label %swap, label %other
other:
  %next = add i64 %i, 1
  br label %search
swap:
  %number = sub i64 %i, 1
  %thread_at = getelementptr [16 x i32], ptr @slots, i64 %number, i64 2
  %thread = load atomic i32, ptr %thread_at acquire, align 4
  %started = load i64, ptr @started
  %exists = icmp slt i64 %number, %started
  %pinned = icmp ne i32 %thread, 0
  br i1 %exists, label %is_up, label %exchange
is_up:
  br i1 %pinned, label %move, label %exit   ; it is just starting: next time
move:
  call void @pin(i32 %thread, i32 %home)
  br label %exchange
exchange:
  store i32 %home, ptr %at
  store i32 %cpu, ptr @cpus
  br label %exit
exit:
  ret void
}

define internal ptr @worker(ptr %argument) {
entry:
  %set = alloca [128 x i8], align 8
  %number = ptrtoint ptr %argument to i64
  %me = add i64 %number, 1
  call void @llvm.memset.p0.i64(ptr %set, i8 -1, i64 128, i1 false)
  %ignored = call i32 @pthread_sigmask(i32 0, ptr %set, ptr null)
  %count = load i64, ptr @cpu_count
  %which = urem i64 %me, %count
  %cpu_at = getelementptr i32, ptr @cpus, i64 %which
  %cpu = load i32, ptr %cpu_at
  call void @pin(i32 0, i32 %cpu)
  %thread = call i32 @gettid()
  %thread_at = getelementptr [16 x i32], ptr @slots, i64 %number, i64 2
  store atomic i32 %thread, ptr %thread_at release, align 4
  %signal_at = getelementptr [16 x i32], ptr @slots, i64 %number
  %asleep_at = getelementptr i32, ptr %signal_at, i64 1
  br label %idle
idle:
  %last = phi i32 [ 0, %entry ], [ %signal, %leave ]
  %begin = call i64 @llvm.readcyclecounter()
  br label %spin
spin:
  %spun = load atomic i32, ptr %signal_at acquire, align 4
  %called = icmp ne i32 %spun, %last
  br i1 %called, label %awake, label %wait
wait:
  call void @llvm.x86.sse2.pause()
  %now = call i64 @llvm.readcyclecounter()
  %waited = sub i64 %now, %begin
  %long = icmp ugt i64 %waited, 3000000
  br i1 %long, label %sleep, label %spin
sleep:
  store atomic i32 1, ptr %asleep_at seq_cst, align 4
  %checked = load atomic i32, ptr %signal_at seq_cst, align 4
  %still = icmp eq i32 %checked, %last
  br i1 %still, label %futex, label %woken
futex:
  ; futex(address, FUTEX_WAIT_PRIVATE, last, no timeout); returns at once if the signal has changed
  %ignored3 = call i64 (i64, ...) @syscall(i64 202, ptr %signal_at, i64 128, i32 %last, ptr null)
  br label %woken
woken:
  %after = load atomic i32, ptr %signal_at seq_cst, align 4
  %spurious = icmp eq i32 %after, %last
  br i1 %spurious, label %sleep, label %up
up:
  store atomic i32 0, ptr %asleep_at seq_cst, align 4
  br label %awake
awake:
  %signal = phi i32 [ %spun, %spin ], [ %after, %up ]
  %stopping = load atomic i32, ptr @stopping acquire, align 4
  %stop = icmp ne i32 %stopping, 0
  br i1 %stop, label %exit, label %enter
enter:
  %before = atomicrmw add ptr @gate, i64 1 acq_rel
  %open = icmp uge i64 %before, 4294967296
  br i1 %open, label %inside, label %leave
inside:
  %all = load i64, ptr @participants
  %wanted = icmp slt i64 %me, %all
  br i1 %wanted, label %work, label %leave
work:
  call void @take_part(i64 %me)
  br label %leave
leave:
  %ignored4 = atomicrmw sub ptr @gate, i64 1 release
  br label %idle
exit:
  ret ptr null
}

define internal void @call_worker(i64 %number) {
entry:
  %signal_at = getelementptr [16 x i32], ptr @slots, i64 %number
  %asleep_at = getelementptr i32, ptr %signal_at, i64 1
  %ignored = atomicrmw add ptr %signal_at, i32 1 seq_cst
  %asleep = load atomic i32, ptr %asleep_at seq_cst, align 4
  %wake = icmp ne i32 %asleep, 0
  br i1 %wake, label %futex, label %exit
futex:
  %ignored2 = call i64 (i64, ...) @syscall(i64 202, ptr %signal_at, i64 129, i32 1)
  br label %exit
exit:
  ret void
}

; start workers until there are `wanted`; a system that gives fewer threads has fewer
define internal void @start_workers(i64 %wanted) {
entry:
  %attributes = alloca [64 x i8], align 8
  %ignored = call i32 @pthread_attr_init(ptr %attributes)
  %ignored2 = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 8388608)
  %have = load i64, ptr @started
  br label %check
check:
  %number = phi i64 [ %have, %entry ], [ %next, %created ]
  %enough = icmp sge i64 %number, %wanted
  br i1 %enough, label %exit, label %create
create:
  %handle_at = getelementptr i64, ptr @handles, i64 %number
  %argument = inttoptr i64 %number to ptr
  %failed = call i32 @pthread_create(ptr %handle_at, ptr %attributes, ptr @worker, ptr %argument)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %created, label %exit
created:
  %next = add i64 %number, 1
  store i64 %next, ptr @started
  br label %check
exit:
  ret void
}

define void @tw_parallel_for(ptr %fn, ptr %context, i64 %extent, i64 %threads) {
entry:
  %cpus = load i64, ptr @cpu_count
  %most = call i64 @llvm.smin.i64(i64 %cpus, i64 256)
  %capped = call i64 @llvm.smin.i64(i64 %threads, i64 %most)
  %all = call i64 @llvm.smin.i64(i64 %capped, i64 %extent)
  %alone = icmp slt i64 %all, 2
  br i1 %alone, label %serial, label %claim
claim:
  %was_busy = atomicrmw xchg ptr @busy, i32 1 acquire
  %nested = icmp ne i32 %was_busy, 0
  br i1 %nested, label %serial, label %prepare
serial:
  %some = icmp sgt i64 %extent, 0
  br i1 %some, label %run_serial, label %exit
run_serial:
  call void %fn(ptr %context, i64 0, i64 %extent)
  br label %exit
prepare:
  call void @make_room()
  %workers = sub i64 %all, 1
  %have = load i64, ptr @started
  %short = icmp slt i64 %have, %workers
  br i1 %short, label %start, label %publish
start:
  call void @start_workers(i64 %workers)
  br label %publish
publish:
  store ptr %fn, ptr @fn
  store ptr %context, ptr @context
  store i64 %all, ptr @participants
  br label %divide
divide:
  %who = phi i64 [ 0, %publish ], [ %who_next, %divide ]
  %who_next = add i64 %who, 1
  %low = mul i64 %who, %extent
  %begin = udiv i64 %low, %all
  %high = mul i64 %who_next, %extent
  %end = udiv i64 %high, %all
  %length = sub i64 %end, %begin
  %quarter = udiv i64 %length, 4
  %chunk = call i64 @llvm.smax.i64(i64 %quarter, i64 1)
  %next_at = getelementptr [8 x i64], ptr @ranges, i64 %who
  %end_at = getelementptr i64, ptr %next_at, i64 1
  %chunk_at = getelementptr i64, ptr %next_at, i64 2
  store i64 %begin, ptr %next_at
  store i64 %end, ptr %end_at
  store i64 %chunk, ptr %chunk_at
  %more = icmp slt i64 %who_next, %all
  br i1 %more, label %divide, label %open
open:
  %ignored = atomicrmw or ptr @gate, i64 4294967296 release
  %there = load i64, ptr @started
  %called = call i64 @llvm.smin.i64(i64 %there, i64 %workers)
  br label %call
call:
  %number = phi i64 [ 0, %open ], [ %number_next, %calling ]
  %left = icmp slt i64 %number, %called
  br i1 %left, label %calling, label %work
calling:
  call void @call_worker(i64 %number)
  %number_next = add i64 %number, 1
  br label %call
work:
  call void @take_part(i64 0)
  %closed = atomicrmw and ptr @gate, i64 4294967295 acq_rel
  br label %join
join:
  %tries = phi i64 [ 0, %work ], [ %tries_next, %again ]
  %inside = load atomic i64, ptr @gate acquire, align 8
  %empty = icmp eq i64 %inside, 0
  br i1 %empty, label %release, label %pause
pause:
  call void @llvm.x86.sse2.pause()
  %tries_next = add i64 %tries, 1
  %patient = icmp ult i64 %tries_next, 20000
  br i1 %patient, label %again, label %yield
yield:
  ; the one inside may be waiting for this CPU
  %ignored2 = call i32 @sched_yield()
  br label %again
again:
  br label %join
release:
  store atomic i32 0, ptr @busy release, align 4
  br label %exit
exit:
  ret void
}

; end the workers and wait for them; the next parallel loop would start new ones
define void @tw_stop() {
entry:
  store atomic i32 1, ptr @stopping seq_cst, align 4
  %have = load i64, ptr @started
  br label %call
call:
  %number = phi i64 [ 0, %entry ], [ %next, %calling ]
  %left = icmp slt i64 %number, %have
  br i1 %left, label %calling, label %exit
calling:
  call void @call_worker(i64 %number)
  %handle_at = getelementptr i64, ptr @handles, i64 %number
  %handle = load i64, ptr %handle_at
  %ignored = call i32 @pthread_join(i64 %handle, ptr null)
  %next = add i64 %number, 1
  br label %call
exit:
  call void @tw_reset()
  ret void
}

; forget all workers: for a child process, which has none of them
define void @tw_reset() {
  store i64 0, ptr @started
  store i32 0, ptr @stopping
  store i32 0, ptr @busy
  store i64 0, ptr @gate
  call void @llvm.memset.p0.i64(ptr @slots, i8 0, i64 16384, i1 false)
  ret void
}

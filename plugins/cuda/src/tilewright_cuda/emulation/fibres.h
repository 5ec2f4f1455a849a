// Control passed between functions that each have a stack of their own.
//
// tw_switch(from, to) keeps the present point in *from and goes on at `to`; prepare(...) gives the
// first point of a fibre. Three instructions a register on x86-64, system calls elsewhere.
#pragma once
#include <ucontext.h>

#include "pages.h"

namespace {

constexpr unsigned kMostThreads = 1024;
constexpr size_t kStack = 64 << 10;

char *stack_of(unsigned thread) {  // null: no memory
  static char *stacks[kMostThreads];
  if (!stacks[thread]) stacks[thread] = guarded_pages(kStack);
  return stacks[thread];
}

#if defined(__x86_64__) && !defined(TW_UCONTEXT)
extern "C" void tw_switch(void **from, void *to);
asm(R"(
.text
.hidden tw_switch
.globl tw_switch
.type tw_switch, @function
tw_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tw_switch, .-tw_switch
)");

void *prepare(unsigned, char *stack, void (*entry)()) {
  void **top = reinterpret_cast<void **>(stack + kStack) - 2;
  *top = reinterpret_cast<void *>(entry);  // the first switch "returns" to it
  return top - 6;                          // behind six registers, whatever they hold
}
#else
ucontext_t contexts[kMostThreads], scheduler_context;

void tw_switch(void **from, void *to) {
  if (!*from) *from = &scheduler_context;
  swapcontext(static_cast<ucontext_t *>(*from), static_cast<ucontext_t *>(to));
}

void *prepare(unsigned thread, char *stack, void (*entry)()) {
  ucontext_t &made = contexts[thread];
  getcontext(&made);
  made.uc_stack.ss_sp = stack;
  made.uc_stack.ss_size = kStack;
  makecontext(&made, entry, 0);
  return &made;
}
#endif

}  // namespace

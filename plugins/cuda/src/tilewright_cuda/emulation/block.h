// A block: its threads as fibres that take turns, and meet at barriers.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <vector>

#include "fibres.h"

struct uint3 { unsigned x, y, z; };
struct tw_kernel {  // as in shim.h
  void (*enter)(const uint64_t *arguments);
  char *shared_begin, *shared_end;
  uint64_t written;
  unsigned parameters, most_threads;
};
extern "C" {
uint3 tw_thread_index, tw_block_index, tw_block_extent, tw_grid_extent;
}

namespace {

constexpr unsigned kWarp = 32;
constexpr float kPoison = 3.1e30f;  // finite: a NaN would hide behind fmaxf(x, 0)

enum Order {
  kForward,  // buffers end at a page that cannot be touched, copies land when waited for
  kReverse,  // buffers start at one, copies land at once
  kRandom,   // as kForward, but copies land by chance
};
enum State : uint8_t { kReady, kAtBlockBarrier, kAtWarpBarrier, kEnded };

struct Copy {
  char *to;
  const char *from;
  unsigned bytes, valid, group;
};

struct Fibre {
  void *context;
  uint3 index;
  State state;
  int line;               // of the barrier it stands at
  unsigned mask;          // of the warp barrier it stands at
  void *value;            // what it offers there, if anything
  unsigned bytes, wants;  // their number, and the lane whose value it takes
  unsigned group;         // groups of copies committed so far
  char taken[16];
  std::vector<Copy> pending;
};

Fibre fibres[kMostThreads];
Fibre *self;
unsigned threads;
void *scheduler;
const tw_kernel *running;
const uint64_t *running_arguments;
Order order;
uint64_t chance;
char *shared;
size_t shared_bytes;

// Where a failure goes to, and its text.
sigjmp_buf launch_frame;
char *failure;
size_t failure_bytes;

[[noreturn]] void fail_at(const Fibre &fibre, const char *format, ...) {
  va_list values;
  va_start(values, format);
  size_t used = vsnprintf(failure, failure_bytes, format, values);
  va_end(values);
  const uint3 &t = fibre.index, &b = tw_block_index;
  if (used < failure_bytes)
    snprintf(failure + used, failure_bytes - used, ", in thread (%u, %u, %u) of block (%u, %u, %u)",
             t.x, t.y, t.z, b.x, b.y, b.z);
  siglongjmp(launch_frame, 1);
}

void give_way(State state, int line) {
  self->state = state;
  self->line = line;
  tw_switch(&self->context, scheduler);
}

void fibre_main() {
  running->enter(running_arguments);
  give_way(kEnded, 0);
}

uint64_t random_bits() {  // xorshift64*
  chance ^= chance >> 12;
  chance ^= chance << 25;
  chance ^= chance >> 27;
  return (chance * 2685821657736338717u) >> 32;
}

void arrange(std::vector<unsigned> &sequence, unsigned count) {
  sequence.resize(count);
  for (unsigned i = 0; i < count; ++i) sequence[i] = order == kReverse ? count - 1 - i : i;
  if (order == kRandom)
    for (unsigned i = count; i > 1; --i) std::swap(sequence[i - 1], sequence[random_bits() % i]);
}

void poison(char *begin, char *end) {
  for (; begin + sizeof kPoison <= end; begin += sizeof kPoison)
    memcpy(begin, &kPoison, sizeof kPoison);
}

void land(const Copy &copy) {
  memcpy(copy.to, copy.from, copy.valid);
  memset(copy.to + copy.valid, 0, copy.bytes - copy.valid);
}

bool complete(unsigned first, unsigned lanes, const Fibre &asking) {
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const Fibre &other = fibres[first + lane];
    if ((asking.mask >> lane & 1) && (other.state != kAtWarpBarrier || other.line != asking.line ||
                                      other.mask != asking.mask))
      return false;
  }
  return true;
}

void meet(unsigned first, unsigned lanes, unsigned mask) {
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Fibre &fibre = fibres[first + lane];
    if (!(mask >> lane & 1) || !fibre.value) continue;
    if (fibre.wants >= lanes || !(mask >> fibre.wants & 1))
      fail_at(fibre, "line %d takes the value of lane %u, which takes no part", fibre.line,
              fibre.wants);
    memcpy(fibre.taken, fibres[first + fibre.wants].value, fibre.bytes);
  }
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (mask >> lane & 1) fibres[first + lane].state = kReady;
}

bool release_warps() {  // where all lanes that are asked for stand at one line
  bool released = false;
  for (unsigned first = 0; first < threads; first += kWarp) {
    unsigned lanes = threads - first < kWarp ? threads - first : kWarp;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const Fibre &asking = fibres[first + lane];
      if (asking.state != kAtWarpBarrier || !complete(first, lanes, asking)) continue;
      meet(first, lanes, asking.mask);
      released = true;
    }
  }
  return released;
}

void release_block() {  // all of it stands at one line, or the barrier is divergent
  const Fibre *waiting = nullptr;
  for (unsigned i = 0; i < threads; ++i) {
    if (fibres[i].state == kAtWarpBarrier)
      fail_at(fibres[i], "divergent barrier: not all of the warp come to line %d", fibres[i].line);
    if (fibres[i].state == kAtBlockBarrier && !waiting) waiting = &fibres[i];
  }
  for (unsigned i = 0; i < threads; ++i) {
    Fibre &fibre = fibres[i];
    if (fibre.state == kEnded)
      fail_at(fibre, "divergent barrier: others wait at line %d, ended", waiting->line);
    if (fibre.line != waiting->line)
      fail_at(fibre, "divergent barrier: others wait at line %d, at line %d", waiting->line,
              fibre.line);
    fibre.state = kReady;
  }
}

void run_block(const std::vector<unsigned> &sequence) {
  poison(shared, shared + shared_bytes);
  poison(running->shared_begin, running->shared_end);
  const uint3 &extent = tw_block_extent;
  for (unsigned i = 0; i < threads; ++i) {
    Fibre &fibre = fibres[i];
    char *stack = stack_of(i);
    if (!stack) fail_at(fibre, "no memory for its stack");
    fibre.context = prepare(i, stack, fibre_main);
    fibre.index = {i % extent.x, i / extent.x % extent.y, i / (extent.x * extent.y)};
    fibre.state = kReady;
    fibre.group = 0;
    fibre.pending.clear();
  }
  for (;;) {
    unsigned ended = 0, in_warps = 0;
    for (unsigned i : sequence) {
      self = &fibres[i];
      if (self->state == kReady) {
        tw_thread_index = self->index;
        tw_switch(&scheduler, self->context);
      }
      ended += self->state == kEnded;
      in_warps += self->state == kAtWarpBarrier;
    }
    if (ended == threads) return;
    if (!in_warps || !release_warps()) release_block();
  }
}

}  // namespace

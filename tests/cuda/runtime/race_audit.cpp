// Data races of emulated kernels: g++'s -fsanitize=thread calls these at every access of memory.
//
// Fibres take turns at barriers only, so that whatever a thread does between two of them seems one
// step. On a device it is not: two threads of a block that touch one byte between two barriers, one
// of them writing, race, and so do two blocks that touch one byte of global memory at any time.
#include <stddef.h>
#include <stdint.h>

#include <iterator>
#include <map>
#include <unordered_map>
#include <vector>

struct uint3 { unsigned x, y, z; };
extern "C" {
extern uint3 tw_thread_index, tw_block_index, tw_block_extent, tw_grid_extent;
void *tw_shared_memory();
}

namespace {

constexpr unsigned kMostThreads = 1024;
enum Kind { kWrites, kReadAndWritten };

// When somebody touched a byte last. `several`: other threads of the block did as well, meanwhile.
struct Touch {
  int64_t block = -1;
  int turn = -1;
  unsigned thread = 0;
  bool several = false, several_blocks = false;

  void by(int64_t this_block, int this_turn, unsigned this_thread) {
    several_blocks |= block >= 0 && block != this_block;
    several = block == this_block && turn == this_turn && (several || thread != this_thread);
    block = this_block, turn = this_turn, thread = this_thread;
  }
  bool races(int64_t this_block, int this_turn, unsigned this_thread) const {
    if (block < 0) return false;
    if (block != this_block || several_blocks) return true;
    return turn == this_turn && (several || thread != this_thread);
  }
};
struct Byte {
  Touch read, written;
  int flying = 0;  // copies into it that nobody has waited for
};
struct Copy { uintptr_t to; unsigned bytes, group; };
struct Thread {
  int turn = 0;  // barriers behind it
  unsigned group = 0;
  std::vector<Copy> pending;
};

bool watching;
std::unordered_map<uintptr_t, Byte> touched;
std::map<uintptr_t, size_t> buffers;  // sizes by address
std::vector<Thread> threads(kMostThreads);
int64_t block = -1;
uintptr_t shared;
size_t shared_bytes;
long counts[2];

unsigned thread_number() {
  const uint3 &i = tw_thread_index, &n = tw_block_extent;
  return i.x + n.x * (i.y + n.y * i.z);
}

Thread &here() {
  const uint3 &i = tw_block_index, &n = tw_grid_extent;
  int64_t now = i.x + int64_t(n.x) * (i.y + int64_t(n.y) * i.z);
  if (now != block) {
    block = now;
    threads.assign(kMostThreads, Thread());
    shared = reinterpret_cast<uintptr_t>(tw_shared_memory());
    for (uintptr_t at = shared; at < shared + shared_bytes; ++at) touched.erase(at);
  }
  return threads[thread_number()];
}

bool watched(uintptr_t at) {
  if (at >= shared && at < shared + shared_bytes) return true;
  auto after = buffers.upper_bound(at);
  return after != buffers.begin() && at < std::prev(after)->first + std::prev(after)->second;
}

// `flying`: how many more copies are on their way here from now on.
void touch(uintptr_t at, size_t bytes, bool writes, int flying = 0) {
  if (!watching) return;
  const Thread &thread = here();
  unsigned number = thread_number();
  if (!watched(at)) return;
  for (size_t offset = 0; offset < bytes; ++offset) {
    Byte &one = touched[at + offset];
    one.flying += flying;
    if (writes) {
      counts[kWrites] += one.written.races(block, thread.turn, number);
      counts[kReadAndWritten] += one.read.races(block, thread.turn, number);
      one.written.by(block, thread.turn, number);
    } else {
      counts[kReadAndWritten] += one.flying || one.written.races(block, thread.turn, number);
      one.read.by(block, thread.turn, number);
    }
  }
}

}  // namespace

extern "C" {

#define OF_BYTES(n)                                                                       \
  void __tsan_read##n(void *at) { touch(reinterpret_cast<uintptr_t>(at), n, false); }     \
  void __tsan_write##n(void *at) { touch(reinterpret_cast<uintptr_t>(at), n, true); }     \
  void __tsan_unaligned_read##n(void *at) { __tsan_read##n(at); }                         \
  void __tsan_unaligned_write##n(void *at) { __tsan_write##n(at); }
OF_BYTES(1) OF_BYTES(2) OF_BYTES(4) OF_BYTES(8) OF_BYTES(16)
void __tsan_read_range(void *at, size_t n) { touch(reinterpret_cast<uintptr_t>(at), n, false); }
void __tsan_write_range(void *at, size_t n) { touch(reinterpret_cast<uintptr_t>(at), n, true); }
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_init() {}

void audit_barrier() { ++here().turn; }

// A copy may land at any time until it is waited for: it writes when it begins, and then again.
void audit_copy(unsigned bytes, void *to, const void *from, unsigned valid) {
  Thread &thread = here();
  if (valid) touch(reinterpret_cast<uintptr_t>(from), valid, false);
  touch(reinterpret_cast<uintptr_t>(to), bytes, true, 1);
  thread.pending.push_back({reinterpret_cast<uintptr_t>(to), bytes, thread.group});
}

void audit_commit() { ++here().group; }

void audit_wait(unsigned groups) {
  Thread &thread = here();
  std::vector<Copy> left;
  for (const Copy &copy : thread.pending)
    if (copy.group + groups < thread.group)
      touch(copy.to, copy.bytes, true, -1);
    else
      left.push_back(copy);
  thread.pending = left;
}

// --- what the test calls -------------------------------------------------------------------------

void audit_buffer(uintptr_t at, size_t bytes) { buffers[at] = bytes; }

void audit_begin(size_t dynamic_bytes) {
  touched.clear();
  block = -1;
  shared_bytes = dynamic_bytes;
  watching = true;
}

// Accesses that raced since `audit_begin`: writes with writes, reads with writes.
void audit_end(long *found) {
  watching = false;
  buffers.clear();
  found[kWrites] = counts[kWrites], found[kReadAndWritten] = counts[kReadAndWritten];
  counts[kWrites] = counts[kReadAndWritten] = 0;
}
}

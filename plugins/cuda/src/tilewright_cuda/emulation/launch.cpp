// Runs a kernel on the CPU, one block at a time.
//
// What a device leaves undefined is made to fail: shared memory starts poisoned, buffers and shared
// memory lie flush against pages that cannot be touched, asynchronous copies land as late or as
// early as they may, and threads and blocks run in an order that the caller chooses.
#include <pthread.h>
#include <signal.h>

#include "block.h"

namespace {

constexpr unsigned kMostParameters = 512, kMostGridYZ = 65535, kMostBlockZ = 64;
constexpr size_t kShared = 256 << 10, kMostShared = 227 << 10;
char *shared_pages;
pthread_t launching;

void on_signal(int, siginfo_t *info, void *) {
  if (!pthread_equal(pthread_self(), launching)) {  // no kernel's fault: as without us
    signal(SIGSEGV, SIG_DFL);
    return;
  }
  char *at = static_cast<char *>(info->si_addr);
  auto after = allocations.upper_bound(at);
  if (after != allocations.end() && at >= after->first - kPage)
    fail_at(*self, "illegal address, %zu bytes before a buffer of %zu", size_t(after->first - at),
            after->second.bytes);
  if (after != allocations.begin()) {
    auto [pages, allocation] = *std::prev(after);
    if (at < pages + allocation.room + kPage)
      fail_at(*self, "illegal address, %zu bytes behind a buffer of %zu",
              size_t(at - pages - allocation.room), allocation.bytes);
  }
  if (at >= shared_pages - kPage && at < shared_pages + kShared + kPage)
    fail_at(*self, "illegal address, outside of %zu bytes of shared memory", shared_bytes);
  fail_at(*self, "illegal address %p", static_cast<void *>(at));
}

void run_grid() {
  std::vector<unsigned> blocks, sequence;
  const uint3 &extent = tw_grid_extent;
  arrange(blocks, extent.x * extent.y * extent.z);
  for (unsigned block : blocks) {
    arrange(sequence, threads);
    tw_block_index = {block % extent.x, block / extent.x % extent.y, block / (extent.x * extent.y)};
    run_block(sequence);
  }
}

}  // namespace

// --- what kernels call ---------------------------------------------------------------------------

extern "C" {

void *tw_shared_memory() { return shared; }

int tw_lane() { return (self - fibres) % kWarp; }

void tw_block_barrier(int line) { give_way(kAtBlockBarrier, line); }

void tw_warp_barrier(unsigned mask, int line) {
  self->mask = mask;
  self->value = nullptr;
  give_way(kAtWarpBarrier, line);
}

void tw_exchange(unsigned mask, int line, void *value, unsigned bytes, int lane) {
  self->mask = mask;
  self->value = value;
  self->bytes = bytes;
  self->wants = lane;
  give_way(kAtWarpBarrier, line);
  memcpy(value, self->taken, bytes);
}

void tw_copy(void *to, const void *from, unsigned bytes, unsigned valid) {
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % bytes)
    fail_at(*self, "misaligned address of a copy of %u bytes", bytes);
  Copy copy{static_cast<char *>(to), static_cast<const char *>(from), bytes, valid, self->group};
  if (order == kReverse || (order == kRandom && random_bits() % 2))
    land(copy);
  else
    self->pending.push_back(copy);
}

void tw_commit() { ++self->group; }

void tw_wait(unsigned groups) {  // all but so many of the groups committed last
  size_t kept = 0;
  for (const Copy &copy : self->pending)
    if (copy.group + groups < self->group)
      land(copy);
    else
      self->pending[kept++] = copy;
  self->pending.resize(kept);
}

// -fsanitize=alignment,bounds calls these two; their data starts with (file, line, column).
struct Place {
  const char *file;
  unsigned line, column;
};

void __ubsan_handle_type_mismatch_v1_abort(const Place *place, void *) {
  fail_at(*self, "misaligned address at line %u", place->line);
}

void __ubsan_handle_out_of_bounds_abort(const Place *place, uintptr_t index) {
  fail_at(*self, "index %lld outside of its array at line %u", (long long)index, place->line);
}

// --- what the driver calls -----------------------------------------------------------------------

void *tw_allocate(size_t bytes) { return allocate(bytes); }

void tw_free(void *address) { release(static_cast<char *>(address)); }

void tw_fill(void *address, uint32_t word, size_t count) {
  for (char *at = static_cast<char *>(address); count--; at += sizeof word)
    memcpy(at, &word, sizeof word);
}

// 0: done; 1: the launch is refused, as a device would; 2: it failed midway. `text` says why.
int tw_launch(const tw_kernel *kernel, const uint64_t *arguments, const unsigned *grid,
              const unsigned *block, size_t dynamic_bytes, int in_order, uint64_t seed, char *text,
              size_t text_bytes) {
  uint64_t blocks = uint64_t(grid[0]) * grid[1] * grid[2];
  uint64_t wanted = uint64_t(block[0]) * block[1] * block[2];
  const char *refused = nullptr;
  if (!blocks || grid[1] > kMostGridYZ || grid[2] > kMostGridYZ || blocks > UINT32_MAX)
    refused = "the grid has no block or too many";
  else if (!wanted || wanted > kMostThreads || wanted > kernel->most_threads)
    refused = "the block has no thread or more than its kernel is bounded to";
  else if (block[2] > kMostBlockZ)
    refused = "the block has more than 64 threads in z";
  else if (dynamic_bytes > kMostShared)
    refused = "the block wants more than 227 KiB of shared memory";
  else if (kernel->parameters > kMostParameters)
    refused = "the kernel has too many parameters";
  if (!shared_pages) shared_pages = guarded_pages(kShared);
  if (!shared_pages) refused = "no memory for shared memory";
  if (refused) {
    snprintf(text, text_bytes, "%s", refused);
    return 1;
  }
  order = Order(in_order);
  chance = seed * 2 + 1;
  threads = wanted;
  running = kernel;
  shared_bytes = padded(dynamic_bytes);
  shared = order == kReverse ? shared_pages : shared_pages + kShared - shared_bytes;
  tw_grid_extent = {grid[0], grid[1], grid[2]};
  tw_block_extent = {block[0], block[1], block[2]};
  launching = pthread_self();
  failure = text;
  failure_bytes = text_bytes;
  self = fibres;
  scheduler = nullptr;

  uint64_t placed[kMostParameters];
  memcpy(placed, arguments, kernel->parameters * sizeof *arguments);
  running_arguments = placed;
  // A fibre that overflows its stack has none left for the handler.
  static char handler_stack[64 << 10];
  stack_t mine{handler_stack, 0, sizeof handler_stack}, theirs;
  struct sigaction catching = {}, before;
  catching.sa_sigaction = on_signal;
  catching.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaltstack(&mine, &theirs);
  sigaction(SIGSEGV, &catching, &before);
  volatile int outcome = 0;
  if (order == kReverse) place(placed, kernel->parameters, true);
  if (!sigsetjmp(launch_frame, 1)) {
    run_grid();
    if (size_t bytes = order == kReverse ? 0 : overwritten())
      fail_at(*self, "a write behind a buffer of %zu bytes, found at the end", bytes);
  } else {
    outcome = 2;
  }
  if (order == kReverse) place(placed, kernel->parameters, false);
  sigaction(SIGSEGV, &before, nullptr);
  sigaltstack(&theirs, nullptr);
  return outcome;
}
}

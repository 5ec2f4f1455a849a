// Memory between pages that cannot be touched.
#pragma once
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iterator>
#include <map>

namespace {

const size_t kPage = sysconf(_SC_PAGESIZE);
constexpr char kSlack = 0x5a;

char *guarded_pages(size_t bytes) {  // between two pages that cannot be touched; null: no memory
  void *pages = mmap(nullptr, bytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  char *inner = static_cast<char *>(pages) + kPage;
  if (!mprotect(inner, bytes, PROT_READ | PROT_WRITE)) return inner;
  munmap(pages, bytes + 2 * kPage);
  return nullptr;
}

void free_pages(char *inner, size_t bytes) { munmap(inner - kPage, bytes + 2 * kPage); }

// What the device's allocator gave out, by the first byte of its pages. A buffer lies at the end of
// its pages, but for the few bytes that let it start on 16, as vectors need.
struct Allocation {
  size_t bytes, room;
};
std::map<char *, Allocation> allocations;

size_t padded(size_t bytes) { return (bytes + 15) / 16 * 16; }  // buffers start on 16 bytes

char *at_the_end(char *pages, const Allocation &a) { return pages + a.room - padded(a.bytes); }

char *allocate(size_t bytes) {  // null: no memory
  size_t room = (padded(bytes) + kPage - 1) / kPage * kPage;
  if (!room) room = kPage;
  char *pages = guarded_pages(room);
  if (!pages) return nullptr;
  Allocation made{bytes, room};
  allocations[pages] = made;
  char *start = at_the_end(pages, made);
  memset(start + bytes, kSlack, pages + room - start - bytes);
  return start;
}

void release(char *address) {
  auto found = std::prev(allocations.upper_bound(address));
  free_pages(found->first, found->second.room);
  allocations.erase(found);
}

// Moves every buffer that an argument points into to the start of its pages, or back to their end.
void place(uint64_t *arguments, unsigned count, bool at_start) {
  std::map<char *, ptrdiff_t> moved;
  for (unsigned i = 0; i < count; ++i) {
    char *address = reinterpret_cast<char *>(arguments[i]);
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin()) continue;
    auto [pages, allocation] = *std::prev(after);
    if (address >= pages + allocation.room) continue;
    char *end = at_the_end(pages, allocation);
    ptrdiff_t by = at_start ? pages - end : end - pages;
    if (moved.emplace(pages, by).second)
      memmove(at_start ? pages : end, at_start ? end : pages, allocation.bytes);
    arguments[i] += by;
  }
}

// The bytes of a buffer whose slack was written to, 0 where there is none; all slack is mended.
size_t overwritten() {
  size_t found = 0;
  for (auto [pages, a] : allocations)
    for (char *at = at_the_end(pages, a) + a.bytes; at < pages + a.room; ++at)
      if (*at != kSlack) {
        *at = kSlack;
        found = a.bytes;
      }
  return found;
}

}  // namespace

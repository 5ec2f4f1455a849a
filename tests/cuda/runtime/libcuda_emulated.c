/* The part of the CUDA driver's interface that a runtime uses, over the emulation.
 *
 * Its machine code is an x86 shared object, as the emulation compiles from CUDA C; FIBRES names the
 * library that runs those. One device with 1 GiB, and a second one that is not counted. As with a real one, a kernel that faults is told
 * of by a later call, and from then on every call fails. Where EMULATED_GPU_LOST names a file, each
 * module adds a byte to it, and with the LAST of them the device is gone for every process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
  OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_IMAGE = 200,
  DEVICE_UNAVAILABLE = 46, INVALID_CONTEXT = 201, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, LAUNCH_OUT_OF_RESOURCES = 701,
  MISALIGNED_ADDRESS = 716, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801
};
enum { MEMORY = 1 << 30, MOST = 4096, MOST_PARAMETERS = 64, LAST = 4 };

typedef struct {
  void *enter;
  char *shared_begin, *shared_end;
  uint64_t written;
  unsigned parameters, most_threads;
} Entry;
typedef struct {
  const Entry *entry;
  unsigned shared_limit;
  int *context;
} Function;
typedef struct {
  Function *function;
  unsigned grid[3], block[3], shared;
  uint64_t arguments[MOST_PARAMETERS];
} Launch;
typedef struct {
  int count;
  Launch launches[];
} Graph;

static int (*run)(const Entry *, const uint64_t *, const unsigned *, const unsigned *, size_t, int,
                  uint64_t, char *, size_t);
static void *(*take)(size_t);
static void (*give)(void *);
static int sticky, captured = -1, contexts[2], stream;
static size_t used, sizes[MOST];
static void *blocks[MOST];
static Launch capture[MOST];
static __thread int *context; /* of the device that the thread uses */

__attribute__((constructor)) static void start(void) {
  void *fibres = dlopen(FIBRES, RTLD_NOW | RTLD_GLOBAL);
  if (!fibres) fprintf(stderr, "%s\n", dlerror());
  *(void **)&run = dlsym(fibres, "tw_launch");
  *(void **)&take = dlsym(fibres, "tw_allocate");
  *(void **)&give = dlsym(fibres, "tw_free");
}

static int is_lost(int modules) {
  const char *path = getenv("EMULATED_GPU_LOST");
  if (!path) return 0;
  FILE *file = fopen(path, "a");
  for (; modules; --modules) fputc('.', file);
  long so_far = (fseek(file, 0, SEEK_END), ftell(file));
  return fclose(file), so_far >= LAST;
}

#define NEEDS_CONTEXT                       \
  if (!context) return INVALID_CONTEXT;     \
  if (is_lost(0)) return DEVICE_UNAVAILABLE; \
  if (sticky) return sticky;

int cuGetErrorString(int code, const char **text) {
  *text = code == ILLEGAL_ADDRESS           ? "an illegal memory access was encountered"
          : code == MISALIGNED_ADDRESS      ? "misaligned address"
          : code == LAUNCH_FAILED           ? "unspecified launch failure"
          : code == LAUNCH_OUT_OF_RESOURCES ? "too many resources requested for launch"
          : code == OUT_OF_MEMORY           ? "out of memory"
          : code == INVALID_VALUE           ? "invalid argument"
                                            : "another error";
  return OK;
}
int cuGetErrorName(int code, const char **text) { return cuGetErrorString(code, text); }
int cuInit(unsigned flags) { return flags ? INVALID_VALUE : OK; }
int cuDriverGetVersion(int *version) { return *version = 13000, OK; }
int cuDeviceGetCount(int *count) { return *count = 1, OK; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal > 1 ? NO_DEVICE + 1 : OK; }
int cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, size, "Emulated GPU");
  return OK;
}
int cuDeviceGetPCIBusId(char *name, int size, int device) {
  snprintf(name, size, "0000:00:00.0");
  return OK;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = MEMORY, OK; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75   ? 9
           : attribute == 76 ? 0
           : attribute == 38 ? 1 << 20
           : attribute == 97 ? 227 << 10
           : attribute == 41 ? 1
           : attribute == 16 ? 4
           : attribute == 13 ? 1000000
                             : 1;
  return OK;
}

int cuDevicePrimaryCtxRetain(void **made, int device) {
  return *made = &contexts[device], is_lost(0) ? DEVICE_UNAVAILABLE : OK;
}
int cuDevicePrimaryCtxRelease_v2(int device) { return OK; }
int cuCtxSetCurrent(void *given) { return context = given, OK; }
int cuCtxPushCurrent_v2(void *given) { return context = given, OK; } /* PyCUDA pops what is there */
int cuCtxPopCurrent_v2(void **given) { return *given = context, context = NULL, OK; }
int cuCtxGetCurrent(void **given) { return *given = context, OK; }
int cuCtxGetDevice(int *device) { return *device = context - contexts, OK; }
int cuCtxGetApiVersion(void *given, unsigned *version) { return *version = 3020, OK; }
int cuCtxSynchronize(void) {
  NEEDS_CONTEXT return OK;
}

int cuModuleLoadData(void **module, const void *image) {
  NEEDS_CONTEXT is_lost(1);
  const Elf64_Ehdr *elf = image;
  if (memcmp(elf->e_ident, ELFMAG, SELFMAG)) return INVALID_IMAGE;
  size_t size = elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize;
  char path[64];
  int file = memfd_create("module", 0);
  if (file < 0 || write(file, image, size) != (ssize_t)size) return OUT_OF_MEMORY;
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!*module) fprintf(stderr, "%s\n", dlerror());
  return *module ? OK : INVALID_IMAGE; /* the file stays: equal paths would be one module */
}
int cuModuleLoadDataEx(void **module, const void *image, unsigned n, const int *options, void **values) {
  for (unsigned i = 0; i < n; i++) /* sizes of the logs: nothing is written to either */
    if (options[i] == 4 || options[i] == 6) values[i] = NULL;
  return cuModuleLoadData(module, image);
}
int cuModuleUnload(void *module) { return dlclose(module) ? INVALID_VALUE : OK; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  NEEDS_CONTEXT char symbol[256];
  snprintf(symbol, sizeof symbol, "tw_kernel_%s", name);
  const Entry *entry = dlsym(module, symbol);
  if (!entry) return NOT_FOUND;
  Function *made = malloc(sizeof *made);
  *made = (Function){entry, (48 << 10) - (entry->shared_end - entry->shared_begin), context};
  return *function = made, OK;
}
int cuFuncSetAttribute(Function *function, int attribute, int value) {
  NEEDS_CONTEXT if (attribute == 8) {
    if (value > 227 << 10) return INVALID_VALUE;
    function->shared_limit = value;
  }
  return OK;
}
int cuFuncSetBlockShape(Function *function, int x, int y, int z) { /* PyCUDA, before it launches */
  NEEDS_CONTEXT return x > 0 && y > 0 && z > 0 ? OK : INVALID_VALUE;
}
int cuFuncGetAttribute(int *value, int attribute, Function *function) { return *value = 0, OK; }

int cuMemAlloc_v2(uint64_t *address, size_t size) {
  NEEDS_CONTEXT if (used + size > MEMORY) return OUT_OF_MEMORY;
  for (int i = 0; i < MOST; ++i)
    if (!blocks[i]) {
      blocks[i] = take(size);
      sizes[i] = size;
      used += size;
      return *address = (uint64_t)blocks[i], OK;
    }
  return OUT_OF_MEMORY;
}
int cuMemFree_v2(uint64_t address) {
  for (int i = 0; i < MOST; ++i)
    if (blocks[i] && (uint64_t)blocks[i] == address) {
      give(blocks[i]);
      used -= sizes[i];
      blocks[i] = NULL;
      return sticky;
    }
  return INVALID_VALUE;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
  NEEDS_CONTEXT return memcpy((void *)to, from, size), OK;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
  NEEDS_CONTEXT return memcpy(to, (void *)from, size), OK;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *on) {
  NEEDS_CONTEXT return memmove((void *)to, (void *)from, size), OK;
}
int cuMemsetD32Async(uint64_t address, unsigned word, size_t count, void *on) {
  NEEDS_CONTEXT for (size_t i = 0; i < count; ++i) memcpy((char *)address + 4 * i, &word, 4);
  return OK;
}

int cuStreamCreate(void **made, unsigned flags) {
  NEEDS_CONTEXT return *made = &stream, OK;
}
int cuStreamDestroy_v2(void *given) { return OK; }
int cuStreamSynchronize(void *given) { return cuCtxSynchronize(); }

static int launch(const Launch *asked) {
  char text[256];
  if (asked->shared > asked->function->shared_limit) return LAUNCH_OUT_OF_RESOURCES;
  switch (run(asked->function->entry, asked->arguments, asked->grid, asked->block, asked->shared, 0,
              0, text, sizeof text)) {
    case 1:
      return INVALID_VALUE;
    case 2:
      fprintf(stderr, "emulated GPU: %s\n", text);
      sticky = strstr(text, "misaligned") ? MISALIGNED_ADDRESS
               : strstr(text, "illegal") ? ILLEGAL_ADDRESS
                                         : LAUNCH_FAILED;
  }
  return OK; /* told of by the next call */
}
int cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, void *on, void **arguments,
                   void **extra) {
  NEEDS_CONTEXT if (function->context != context) return INVALID_CONTEXT;
  Launch asked = {function, {gx, gy, gz}, {bx, by, bz}, shared, {0}};
  if (arguments)
    for (unsigned i = 0; i < function->entry->parameters; ++i)
      memcpy(&asked.arguments[i], arguments[i], 8);
  else if (extra && extra[0] == (void *)1) /* CU_LAUNCH_PARAM_BUFFER_POINTER, then _SIZE */
    memcpy(asked.arguments, extra[1], *(size_t *)extra[3]);
  else
    return INVALID_VALUE;
  if (captured < 0) return launch(&asked);
  if (captured == MOST) return OUT_OF_MEMORY;
  return capture[captured++] = asked, OK;
}

int cuStreamBeginCapture_v2(void *on, int mode) {
  NEEDS_CONTEXT return captured = 0, OK;
}
int cuStreamEndCapture(void *on, void **made) {
  if (captured < 0) return INVALID_VALUE;
  Graph *graph = malloc(sizeof *graph + captured * sizeof *capture);
  graph->count = captured;
  memcpy(graph->launches, capture, captured * sizeof *capture);
  captured = -1;
  return *made = graph, OK;
}
int cuGraphInstantiateWithFlags(void **made, Graph *graph, unsigned long long flags) {
  size_t size = sizeof *graph + graph->count * sizeof *capture;
  NEEDS_CONTEXT return *made = memcpy(malloc(size), graph, size), OK;
}
int cuGraphUpload(Graph *graph, void *on) {
  NEEDS_CONTEXT return OK;
}
int cuGraphLaunch(Graph *graph, void *on) {
  NEEDS_CONTEXT for (int i = 0; i < graph->count; ++i) {
    int code = launch(&graph->launches[i]);
    if (code) return code;
  }
  return OK;
}
int cuGraphDestroy(Graph *graph) { return free(graph), OK; }
int cuGraphExecDestroy(Graph *graph) { return free(graph), OK; }

int cuEventCreate(void **event, unsigned flags) {
  NEEDS_CONTEXT return *event = malloc(sizeof(struct timespec)), OK;
}
int cuEventRecord(struct timespec *event, void *on) {
  NEEDS_CONTEXT return clock_gettime(CLOCK_MONOTONIC, event), OK;
}
int cuEventSynchronize(void *event) { return cuCtxSynchronize(); }
int cuEventElapsedTime(float *milliseconds, struct timespec *start, struct timespec *stop) {
  NEEDS_CONTEXT *milliseconds =
      1e3f * (stop->tv_sec - start->tv_sec) + 1e-6f * (stop->tv_nsec - start->tv_nsec);
  return OK;
}
int cuEventElapsedTime_v2(float *milliseconds, struct timespec *start, struct timespec *stop) {
  return cuEventElapsedTime(milliseconds, start, stop);
}
int cuEventDestroy_v2(void *event) { return free(event), OK; }

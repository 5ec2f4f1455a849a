// Runs the instructions of AMX on processors without them: each one traps, and is carried out here.
//
// What they do is as the manual of their maker says, so that code for AMX is tested as machine code:
// tile configuration, addresses, strides, operand order. A tile register is a thread's own.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { TILES = 8, MAX_ROWS = 16, MAX_BYTES = 64 };

typedef struct {
  int configured;
  uint8_t rows[TILES];
  uint16_t row_bytes[TILES];
  uint8_t tile[TILES][MAX_ROWS][MAX_BYTES];
} Tiles;

static __thread Tiles *mine __attribute__((tls_model("initial-exec")));
static long executed;

static _Noreturn void wrong(const char *what) {
  fprintf(stderr, "AMX: %s\n", what);
  abort();
}

static Tiles *tiles(void) {
  if (!mine) {
    mine = mmap(NULL, sizeof(Tiles), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mine == MAP_FAILED) wrong("no memory for tiles");
  }
  return mine;
}

static void configure(const uint8_t *from) {
  Tiles *t = tiles();
  memset(t, 0, sizeof *t);
  if (from[0] != 1) wrong("the palette is not 1");
  for (int i = 1; i < 16; i++)
    if (from[i]) wrong("reserved bytes of the configuration are not 0");
  for (int i = 32; i < 48; i++)
    if (from[i]) wrong("there are eight tiles");
  for (int i = 56; i < 64; i++)
    if (from[i]) wrong("there are eight tiles");
  for (int i = 0; i < TILES; i++) {
    t->row_bytes[i] = from[16 + 2 * i] | from[17 + 2 * i] << 8;
    t->rows[i] = from[48 + i];
    if (t->row_bytes[i] > MAX_BYTES || t->rows[i] > MAX_ROWS) wrong("a tile is too large");
  }
  t->configured = 1;
}

static float widened(uint16_t bits) {
  if (!(bits & 0x7f80)) bits &= 0x8000;  // denormals count as 0
  uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, 4);
  return value;
}

static void multiply(int pp, int opcode, int c, int a, int b) {
  Tiles *t = tiles();
  if (c == a || c == b || a == b) wrong("a product names a tile twice");
  if (t->rows[c] != t->rows[a] || t->row_bytes[a] / 4 != t->rows[b] ||
      t->row_bytes[c] != t->row_bytes[b])
    wrong("the shapes of a product's tiles do not fit");
  int columns = t->row_bytes[c] / 4, terms = t->row_bytes[a] / 4;
  for (int m = 0; m < t->rows[c]; m++)
    for (int n = 0; n < columns; n++) {
      uint8_t *sum = t->tile[c][m] + 4 * n;
      if (opcode == 0x5c) {
        float total;
        memcpy(&total, sum, 4);
        for (int k = 0; k < terms; k++)
          for (int l = 0; l < 2; l++) {
            uint16_t x, y;
            memcpy(&x, t->tile[a][m] + 4 * k + 2 * l, 2);
            memcpy(&y, t->tile[b][k] + 4 * n + 2 * l, 2);
            total += widened(x) * widened(y);
          }
        memcpy(sum, &total, 4);
      } else {
        int32_t total;
        memcpy(&total, sum, 4);
        for (int k = 0; k < terms; k++)
          for (int l = 0; l < 4; l++) {
            uint8_t x = t->tile[a][m][4 * k + l], y = t->tile[b][k][4 * n + l];
            // without prefix uu, 66 us, F3 su, F2 ss
            int left = pp >= 2 ? (int8_t)x : x, right = pp == 1 || pp == 3 ? (int8_t)y : y;
            total += left * right;
          }
        memcpy(sum, &total, 4);
      }
    }
}

static long long general(ucontext_t *context, int number) {
  static const int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context->uc_mcontext.gregs[order[number]];
}

static void carry_out(int signal_number, siginfo_t *info, void *opaque) {
  ucontext_t *context = opaque;
  const uint8_t *code = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP], *at = code + 5;
  int pp = code[2] & 3, opcode = code[3], modrm = code[4];
  int is_amx = code[0] == 0xc4 && (code[1] & 0x1f) == 2 && !(code[2] & 0x84) &&
               (opcode == 0x49 || opcode == 0x4b || opcode == 0x5c || opcode == 0x5e);
  if (!is_amx) {
    signal(SIGILL, SIG_DFL);  // it runs again, and ends the process
    return;
  }
  int in_registers = modrm >> 6 == 3, first = modrm >> 3 & 7, second = modrm & 7;
  long long address = 0, stride = 0;
  if (!in_registers) {
    int index = 4, base = second | (~code[1] >> 5 & 1) << 3, scale = 0;
    if (second == 4) {
      int sib = *at++;
      scale = sib >> 6;
      index = (sib >> 3 & 7) | (~code[1] >> 6 & 1) << 3;
      base = (sib & 7) | (~code[1] >> 5 & 1) << 3;
    }
    int displaced = modrm >> 6, absolute = displaced == 0 && (base & 7) == 5;
    int32_t displacement = 0;
    if (displaced == 1) displacement = (int8_t)*at++;
    if (displaced == 2 || absolute) {
      memcpy(&displacement, at, 4);
      at += 4;
    }
    if (absolute && second != 4) address = (long long)at;  // relative to the next instruction
    else if (!absolute) address = general(context, base);
    address += displacement;
    if (index != 4) stride = general(context, index) << scale;
  }
  Tiles *t = tiles();
  if (opcode == 0x49 && !in_registers && pp == 0) configure((const uint8_t *)address);
  else if (!t->configured) wrong("a tile is used in a thread that did not configure it");
  else if (opcode == 0x49 && in_registers && pp == 0) t->configured = 0;
  else if (opcode == 0x49 && in_registers && pp == 3) memset(t->tile[first], 0, sizeof t->tile[first]);
  else if (opcode == 0x4b && (pp == 1 || pp == 3)) {
    memset(t->tile[first], 0, sizeof t->tile[first]);
    for (int row = 0; row < t->rows[first]; row++)
      memcpy(t->tile[first][row], (void *)(address + row * stride), t->row_bytes[first]);
  } else if (opcode == 0x4b && pp == 2)
    for (int row = 0; row < t->rows[first]; row++)
      memcpy((void *)(address + row * stride), t->tile[first][row], t->row_bytes[first]);
  else if (in_registers && (opcode == 0x5e || (opcode == 0x5c && pp == 2)))
    multiply(pp, opcode, first, second, ~code[2] >> 3 & 7);
  else wrong("an instruction that is not known here");
  __atomic_fetch_add(&executed, 1, __ATOMIC_RELAXED);
  context->uc_mcontext.gregs[REG_RIP] = (long long)at;
}

long executed_instructions(void) { return executed; }

// In place of pthread_sigmask: threads of the pool block all signals, which traps are.
int block_none(int how, const void *set, void *before) { return 0; }

int trap_instructions(void) {
  struct sigaction action = {.sa_sigaction = carry_out, .sa_flags = SA_SIGINFO | SA_NODEFER};
  return sigaction(SIGILL, &action, NULL);
}

/* The part of NVIDIA's management library that is read, for one GPU. */
#include <stdio.h>
#include <string.h>

int nvmlInit_v2(void) { return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { return snprintf(text, size, "1.2.3"), 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
  *device = "gpu";
  return strcmp(bus, "0000:00:00.0") != 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts) {
  return *milliwatts = 700000, 0;
}
int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *mhz) {
  return *mhz = clock == 1 ? 1980 : 2619, 0;
}

// For LD_PRELOAD: an fdatasync that takes DELAY_US microseconds longer. PostgreSQL writes its log to the disk with it.
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fdatasync(int file) {
  struct timespec left = {DELAY_US / 1000000, DELAY_US % 1000000 * 1000};
  // The processes of PostgreSQL send each other signals.
  while (nanosleep(&left, &left) == -1 && errno == EINTR) continue;
  return (int)syscall(SYS_fdatasync, file);
}

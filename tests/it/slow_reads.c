/* Loaded before a server's own libraries: a device whose reads take some milliseconds, once the file named by SLOW_READS exists. The
 * thread waits within `read`, as it would in the kernel's driver. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <unistd.h>

static const long READ_NS = 3000000;

static void slow_device(void) {
    const char *asked = getenv("SLOW_READS");
    if (asked == NULL || access(asked, F_OK) != 0) return;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec once = {.it_value = {.tv_nsec = READ_NS}};
    uint64_t rings;
    if (timer < 0) return;
    if (timerfd_settime(timer, 0, &once, NULL) == 0 && read(timer, &rings, sizeof rings) < 0) abort();
    close(timer);
}

ssize_t pread64(int file, void *into, size_t size, off64_t at) {
    slow_device();
    return syscall(SYS_pread64, file, into, size, at);
}

ssize_t pread(int file, void *into, size_t size, off_t at) {
    return pread64(file, into, size, at);
}

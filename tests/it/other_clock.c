/* Preloaded: the clock that tells the time of day is ahead by so many seconds as CLOCK_AHEAD_S says; the steady one is not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, time);
    const char *ahead = getenv("CLOCK_AHEAD_S");
    if (!failed && clock == CLOCK_REALTIME && ahead) time->tv_sec += atoi(ahead);
    return failed;
}

#include "ticks.h"

#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

_Atomic bool usm_ticks_are_cycles;

/* When the clock was first looked at. */
static usm_moment first;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Does the processor count time at one rate, on all cores alike? Then the system's clock is made of it. */
static bool has_cycles(void)
{
#if defined(__x86_64__)
    char text[16] = "";
    unsigned a, b, c, d = 0;
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    bool used = file != NULL && fgets(text, sizeof text, file) != NULL && strcmp(text, "tsc\n") == 0;
    if (file != NULL) {
        fclose(file);
    }
    return used && __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
#else
    return false;
#endif
}

static void start(void)
{
    atomic_store_explicit(&usm_ticks_are_cycles, has_cycles(), memory_order_relaxed);
    first = usm_moment_now();
}

void usm_ticks_start(void)
{
    pthread_once(&once, start);
}

/* Between two looks at the ticks that are close to each other. */
usm_moment usm_moment_now(void)
{
    usm_moment best = {0, 0};
    int64_t least = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        int64_t before = usm_ticks(), ns = usm_clock_ns(), after = usm_ticks();
        if (after - before < least) {
            least = after - before;
            best = (usm_moment){before + (after - before) / 2, ns};
        }
    }
    return best;
}

int64_t usm_ticks_to_ns(int64_t ticks, const usm_moment *now)
{
    if (!atomic_load_explicit(&usm_ticks_are_cycles, memory_order_relaxed) || now->ticks == first.ticks) {
        return ticks;
    }
    double rate = (double)(now->ns - first.ns) / (double)(now->ticks - first.ticks);
    return now->ns + (int64_t)((double)(ticks - now->ticks) * rate);
}

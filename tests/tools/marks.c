/* Marks of executed code, for tests/tools/line_coverage.py: GCC calls the function at the start of each block
 * (-fsanitize-coverage=trace-pc). The marks are a byte for each address of the library's code, in a file that
 * all processes of a run share, so that they outlive processes that crash or are killed. */

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[];

static unsigned char *marks;

__attribute__((constructor(101))) static void map_marks(void)
{
    const char *path = getenv("USMPY_MARKS");
    int file = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0) {
        return;
    }
    size_t size = (size_t)(etext - __ehdr_start);
    if (ftruncate(file, (off_t)size) == 0) {
        void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        marks = mapped != MAP_FAILED ? mapped : NULL;
    }
    close(file);
}

__attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
    uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)__ehdr_start;
    if (marks != NULL) {
        __atomic_store_n(&marks[at], 1, __ATOMIC_RELAXED);
    }
}

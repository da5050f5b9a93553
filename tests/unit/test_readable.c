/* What can be read at an address, by the kernel's word. */
#include "check.h"
#include "support.h"

#include "core/base/readable.h"

#include <sys/mman.h>
#include <unistd.h>

static void words(void)
{
    static const uint64_t constant = 1;
    uint64_t local[2] = {1, 2};
    CHECK(usm_is_readable(&constant));
    CHECK(usm_is_readable(&local[1]));
    CHECK(!usm_is_readable(NULL));
    CHECK(!usm_is_readable((const char *)local + 1)); /* no address of a word */
    CHECK(!usm_is_readable((const void *)(uintptr_t)8));
    CHECK(!usm_is_readable((const void *)(uintptr_t)-8)); /* the kernel's half */
}

/* Mapped is not readable: sanitizers reserve terabytes that must not be accessed. */
static void pages(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages = mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK(mprotect(pages + page, page, PROT_NONE) == 0);
    CHECK(usm_is_readable(pages));
    CHECK(usm_is_readable(pages + page - sizeof(void *)));
    CHECK(!usm_is_readable(pages + page));
    CHECK(usm_is_readable(pages + 2 * page));
    CHECK(munmap(pages, 3 * page) == 0);
    CHECK(!usm_is_readable(pages));
}

int main(void)
{
    RUN(words);
    RUN(pages);
    return 0;
}

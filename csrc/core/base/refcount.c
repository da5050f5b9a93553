#include "refcount.h"

#ifdef USM_TESTING

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `refs` is the source text of the argument: "&event->refs". */
void usm_expect_count(bool exists, int32_t count, const char *refs, const char *what)
{
    if (!exists) {
        const char *name = refs + strspn(refs, "&(*");
        (void)fprintf(stderr, "usmpy: %.*s %s (its count was %d)\n", (int)strcspn(name, ")-."), name, what,
                      count);
        abort();
    }
}

#endif

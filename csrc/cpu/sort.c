/* Rows that one thread sorts: few elements by insertion, others by radix, without the digits in which all
 * agree. */
#include "portable.h"

#include "sort.h"

#include "kernels/src/sort_key.h"

#include <stdbool.h>
#include <string.h>

#define INSERTED 40

#define SIZE 1
#define TYPE uint8_t
#define KEY usm_sort_key_1
#include "sort_rows.h"

#define SIZE 2
#define TYPE uint16_t
#define KEY usm_sort_key_2
#include "sort_rows.h"

#define SIZE 4
#define TYPE uint32_t
#define KEY usm_sort_key_4
#include "sort_rows.h"

#define SIZE 8
#define TYPE uint64_t
#define KEY usm_sort_key_8
#include "sort_rows.h"

void usm_cpu_sort(int size, char *values, int64_t *indices, const char *src, char *spare, uint32_t *places,
                  const usm_sort *s, size_t lo, size_t hi)
{
    (size == 1   ? sort_1
     : size == 2 ? sort_2
     : size == 4 ? sort_4
                 : sort_8)(values, indices, src, spare, places, s, lo, hi);
}

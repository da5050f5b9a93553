/* Single elements as C numbers: for scalars that come from and go to Python. Any alignment. */
#ifndef USM_CORE_NUMBER_H
#define USM_CORE_NUMBER_H

#include "dtype.h"

/* For the computed types (dtype < USM_COMPUTED_DTYPES). Integers are converted as from a double: use
 * memory for them. */
void usm_number_store(usm_dtype dtype, double re, double im, void *element);
void usm_number_load(usm_dtype dtype, const void *element, double *re, double *im);
/* For integer types; uint64 comes back as the int64_t of the same bits. */
int64_t usm_number_load_int(usm_dtype dtype, const void *element);

#endif

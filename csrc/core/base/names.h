/* Names of kernels and host functions, each kept once and known by a number, as long as the process. */
#ifndef USM_CORE_NAMES_H
#define USM_CORE_NAMES_H

#include <stdint.h>

/* 0 where memory ran out: no name. Any lock but a leaf. */
uint32_t usm_name_number(const char *text);
/* NULL for 0. Any lock but a leaf. */
const char *usm_name_text(uint32_t number);

#endif

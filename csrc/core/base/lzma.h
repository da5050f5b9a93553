/*
 * Decoder of raw LZMA streams, which the build writes with Python's encoder (csrc/kernels/tools/embed.py).
 * The format is that of 7-Zip's lzma-specification.txt without its header, and the models have the names used
 * there.
 */
#ifndef USM_CORE_LZMA_H
#define USM_CORE_LZMA_H

#include <stddef.h>
#include <stdint.h>

/* The encoder's parameters: a literal depends on this many high bits of the byte before it. */
#define USM_LZMA_LC 3 /* and lp = pb = 0: nothing depends on the position */

/*
 * Writes the first `size` bytes of the stream. The stream must be intact, as what is part of the extension
 * is: nothing is checked. Any thread, no lock.
 */
void usm_lzma_decode(const uint8_t *stream, uint8_t *out, size_t size);

#endif

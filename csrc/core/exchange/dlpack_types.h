/*
 * What each type of device in DLPack (dlpack.h 1.3) means for an exchange: one row of a table. A backend says
 * the types of its memory (usm_device_info), and all other code asks this table what follows from them.
 */
#ifndef USM_CORE_DLPACK_TYPES_H
#define USM_CORE_DLPACK_TYPES_H

#include "core/device/properties.h"

#include <stddef.h>

/*
 * How __dlpack__(stream=) numbers the streams of a device (array API standard 2025.12). Numbers above 2 are
 * handles of the driver, and -1 asks for no order.
 */
typedef struct usm_stream_numbers {
    uint64_t legacy, per_thread; /* of the default streams; the same number: the second has none */
    const char *allowed;         /* for messages */
} usm_stream_numbers;

typedef struct usm_dlpack_type {
    const char *name;                  /* in dlpack.h; NULL: there is no such type */
    usm_kind kind;                     /* of its memory, where no driver is asked */
    const usm_stream_numbers *numbers; /* of the streams that work on its memory; NULL: there are none */
    /*
     * Memory is of the default context of its device, and each driver numbers its devices by itself: several
     * devices of the process may have the same type and id.
     */
    bool is_of_default_context;
} usm_dlpack_type;

#define USM_DLPACK_TYPES 19
extern const usm_dlpack_type usm_dlpack_types[USM_DLPACK_TYPES];

/* The row of a type; that of 0, which is none, for unknown types. */
static inline const usm_dlpack_type *usm_dlpack_type_of(int32_t type)
{
    return &usm_dlpack_types[(uint32_t)type < USM_DLPACK_TYPES ? type : 0];
}

/* The stream that a number stands for, as in properties.h; NULL: none. */
void *usm_stream_of_number(const usm_stream_numbers *numbers, uint64_t number);
/* The number of *stream, which becomes the default stream of the device if the protocol does not name it. */
uint64_t usm_number_of_stream(const usm_stream_numbers *numbers, void **stream);

/* "kDLCUDA (2)", for messages; returns text. */
char *usm_dldevice_text(int32_t type, char *text, size_t size);

#endif

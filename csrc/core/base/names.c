#include "names.h"

#include "heap.h"
#include "sync.h"

#include <string.h>

/* Found by a hash: a power of two of entries, half of them free. Under its leaf stripe. */
static struct {
    char **texts; /* number - 1 */
    uint32_t *slots;
    uint32_t n, n_slots;
} names;

static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text != 0; text++) {
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    }
    return hash;
}

static uint32_t *slot_of(const char *text)
{
    uint32_t i = hash_of(text) & (names.n_slots - 1);
    while (names.slots[i] != 0 && strcmp(names.texts[names.slots[i] - 1], text) != 0) {
        i = (i + 1) & (names.n_slots - 1);
    }
    return &names.slots[i];
}

static bool grow(void)
{
    uint32_t n_slots = names.n_slots == 0 ? 64 : 2 * names.n_slots;
    uint32_t *slots = usm_calloc(n_slots, sizeof *slots);
    char **texts = slots == NULL ? NULL : usm_realloc(names.texts, n_slots / 2 * sizeof *texts);
    if (texts == NULL) {
        free(slots);
        return false;
    }
    free(names.slots);
    names.slots = slots;
    names.n_slots = n_slots;
    names.texts = texts;
    for (uint32_t i = 0; i < names.n; i++) {
        *slot_of(texts[i]) = i + 1;
    }
    return true;
}

static uint32_t number_of(const char *text)
{
    if (names.n * 2 >= names.n_slots && !grow()) {
        return 0;
    }
    uint32_t *slot = slot_of(text);
    if (*slot == 0) {
        size_t size = strlen(text) + 1;
        char *copy = usm_malloc(size);
        if (copy == NULL) {
            return 0;
        }
        names.texts[names.n] = memcpy(copy, text, size);
        *slot = ++names.n;
    }
    return *slot;
}

uint32_t usm_name_number(const char *text)
{
    usm_leaf *leaf = usm_leaf_of(&names);
    pthread_mutex_lock(&leaf->mutex);
    uint32_t number = number_of(text);
    pthread_mutex_unlock(&leaf->mutex);
    return number;
}

const char *usm_name_text(uint32_t number)
{
    usm_leaf *leaf = usm_leaf_of(&names);
    pthread_mutex_lock(&leaf->mutex);
    const char *text = number == 0 ? NULL : names.texts[number - 1];
    pthread_mutex_unlock(&leaf->mutex);
    return text;
}

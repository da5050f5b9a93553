/* Cards and their tiles, and which of them are shown: ZE_FLAT_DEVICE_HIERARCHY and ZE_AFFINITY_MASK. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct _ze_device_handle_t *roots; /* cards, also those that are hidden */
static uint32_t n_roots;
static ze_device_handle_t *shown; /* what zeDeviceGet() lists */
static uint32_t n_shown;

/* Does the entry "2" or "2.1" of a mask name the tile of the card? `flat`: tiles are numbered through. */
static bool entry_names(const char *entry, bool flat, uint32_t card, uint32_t tile, uint32_t tiles)
{
    char *end;
    uint32_t first = (uint32_t)strtoul(entry, &end, 10);
    if (flat)
        return *end != '.' && first == card * tiles + tile;
    if (first != card)
        return false;
    return *end != '.' || (uint32_t)strtoul(end + 1, NULL, 10) == tile;
}

static bool mask_names(const char *mask, bool flat, uint32_t card, uint32_t tile, uint32_t tiles)
{
    if (mask == NULL || *mask == '\0')
        return true;
    for (const char *at = mask; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (*at >= '0' && *at <= '9' && entry_names(at, flat, card, tile, tiles))
            return true;
    }
    return false;
}

/* As Intel's driver has it: a card of which a mask leaves one tile is a device of one piece. */
static void show_card(struct _ze_device_handle_t *card, bool flat, uint32_t tiles)
{
    if (flat)
        for (uint32_t k = 0; k < card->n_parts; k++)
            shown[n_shown++] = &card->parts[k];
    else if (card->n_parts == 1 && tiles > 1)
        shown[n_shown++] = &card->parts[0];
    else
        shown[n_shown++] = card;
}

void sim_devices_setup(const sim_setup *setup)
{
    const char *mask = getenv("ZE_AFFINITY_MASK");
    uint32_t tiles = setup->sub_devices > 0 ? setup->sub_devices : 1;
    bool flat = (setup->flat || setup->combined) && setup->sub_devices > 0;
    roots = calloc(setup->devices + 1, sizeof(*roots));
    shown = calloc(setup->devices * tiles + 1, sizeof(ze_device_handle_t));
    n_roots = roots == NULL || shown == NULL ? 0 : setup->devices;
    for (uint32_t i = 0; i < n_roots; i++) {
        struct _ze_device_handle_t *card = &roots[i];
        *card = (struct _ze_device_handle_t){.index = i, .root = card};
        card->parts = calloc(tiles, sizeof(*roots));
        uint32_t left = 0;
        for (uint32_t k = 0; card->parts != NULL && k < tiles; k++)
            if (mask_names(mask, flat, i, k, tiles))
                card->parts[left++] = (struct _ze_device_handle_t){.index = k, .root = card};
        card->n_parts = setup->sub_devices > 0 ? left : 0;
        if (left > 0)
            show_card(card, flat, tiles);
    }
}

uint32_t sim_cards(ze_device_handle_t *out)
{
    sim_settings();
    *out = roots;
    return n_roots;
}

uint32_t sim_shown(ze_device_handle_t **out)
{
    sim_settings();
    *out = shown;
    return n_shown;
}

bool sim_is_sub_device(ze_device_handle_t device)
{
    if (!sim_is_part(device) || sim_settings()->flat)
        return false;
    /* The only tile that a mask left of its card, where tiles are not root devices anyhow. */
    return sim_settings()->combined || device->root->n_parts > 1 || sim_settings()->sub_devices == 1;
}

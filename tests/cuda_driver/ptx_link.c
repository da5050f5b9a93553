/* What only the whole module decides: where shared variables are, whose threads wait for each other. */
#include "ptx.h"

static uint32_t align_up(uint32_t value, uint32_t align)
{
    return align == 0 ? value : (value + align - 1) / align * align;
}

/* What calls bring into a function: shared memory, waits for other threads. */
static bool spread(ptx_module *module)
{
    bool changed = false;
    for (size_t i = 0; i < module->n_functions; i++) {
        ptx_function *function = &module->functions[i];
        for (size_t j = 0; j < module->n_functions; j++) {
            ptx_function *callee = &module->functions[j];
            bool calls = function->indirect && callee->defined && !callee->entry;
            for (size_t k = 0; k < function->n_calls && !calls; k++) {
                calls = function->call_sites[k].callee == (int)j;
            }
            if (!calls || !callee->defined) {
                continue;
            }
            if (callee->collective && !function->collective) {
                function->collective = changed = true;
            }
            for (size_t k = 0; k < module->n_shared; k++) {
                changed |= callee->shared_used[k] && !function->shared_used[k];
                function->shared_used[k] |= callee->shared_used[k];
            }
        }
    }
    return changed;
}

/* Variables that functions use have one place in all entries; others only take room where they are used. */
static void lay_out_shared(ptx_module *module)
{
    uint32_t common = 0;
    for (size_t i = 0; i < module->n_shared; i++) {
        ptx_shared *shared = &module->shared[i];
        size_t users = 0;
        for (size_t j = 0; j < module->n_functions; j++) {
            ptx_function *function = &module->functions[j];
            users += function->defined && function->shared_used[i];
        }
        shared->common = users > 1;
        if (shared->common && !shared->dynamic) {
            shared->offset = align_up(common, shared->align);
            common = shared->offset + shared->size;
        }
    }
    for (size_t j = 0; j < module->n_functions; j++) {
        ptx_function *function = &module->functions[j];
        uint32_t end = common;
        for (size_t i = 0; function->defined && i < module->n_shared; i++) {
            ptx_shared *shared = &module->shared[i];
            if (!function->shared_used[i] || shared->dynamic) {
                continue;
            }
            if (!shared->common) {
                shared->offset = align_up(end, shared->align);
                end = shared->offset + shared->size;
            }
            uint32_t used = shared->offset + shared->size;
            function->shared_size = used > function->shared_size ? used : function->shared_size;
        }
    }
}

void ptx_link(ptx_module *module)
{
    while (spread(module)) {
    }
    lay_out_shared(module);
}

/* Part of programs: no system header is included, since its names could conflict with the program's. */
#ifndef USM_STACK
#define USM_STACK (256 << 10)
#endif
#define USM_PAGE 65536
struct usm_fiber {
    void *sp;
    uint next, before, item;
};
struct usm_fibers {
    struct usm_fiber *fibers;
    char *stacks;
    void *main;
    void (*run)(void *frame, size_t item, struct usm_fibers *fibers);
    void *frame;
    uint now, n, ended;
    /* Of checked programs: the line of the barrier where some wait for the rest; whether one ended instead. */
    int line, apart;
};
extern void *mmap(void *, size_t, int, int, int, long);
extern int munmap(void *, size_t);
extern int mprotect(void *, size_t, int);
#if defined(__x86_64__)
__attribute__((visibility("hidden"))) void usm_switch(void **save, void *to);
__asm__(".pushsection .text\n"
        ".hidden usm_switch\n.globl usm_switch\n.type usm_switch, @function\n"
        "usm_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
        "ret\n"
        ".size usm_switch, .-usm_switch\n"
        ".popsection\n");
#define USM_SAVED 6
#elif defined(__aarch64__)
__attribute__((visibility("hidden"))) void usm_switch(void **save, void *to);
__asm__(".pushsection .text\n"
        ".hidden usm_switch\n.globl usm_switch\n.type usm_switch, %function\n"
        "usm_switch:\n"
        "sub sp, sp, #176\n"
        "stp x19, x20, [sp, #0]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]\n"
        "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
        "ldp x19, x20, [sp, #0]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #176\nret\n"
        ".size usm_switch, .-usm_switch\n"
        ".popsection\n");
#define USM_SAVED 22
#else
#error "barriers: kernels that wait need x86-64 or AArch64 on the host"
#endif
static __thread struct usm_fibers *usm_now;

/* Forgets what it knows of memory: others have run in between. */
static inline void usm_barrier(struct usm_fibers *usm_f)
{
    __asm__ volatile("" ::: "memory");
    if (usm_f) {
        struct usm_fiber *usm_me = &usm_f->fibers[usm_f->now];
        if (usm_me->next != usm_f->now) {
            usm_f->now = usm_me->next;
            usm_switch(&usm_me->sp, usm_f->fibers[usm_me->next].sp);
        }
    }
    __asm__ volatile("" ::: "memory");
}

/* The barrier on that line of a checked program: 1 if another work-item ended, or waits elsewhere. */
static inline int usm_barrier_at(struct usm_fibers *usm_f, int usm_line)
{
    if (!usm_f) {
        return 0;
    }
    int usm_elsewhere = usm_f->ended > 0 || (usm_f->line != 0 && usm_f->line != usm_line);
    usm_f->line = usm_f->fibers[usm_f->now].next <= usm_f->now ? 0 : usm_line;
    usm_barrier(usm_f);
    return usm_elsewhere || usm_f->apart;
}

static void usm_fiber(void)
{
    struct usm_fibers *usm_f = usm_now;
    struct usm_fiber *usm_me = &usm_f->fibers[usm_f->now];
    void *usm_never;
    usm_f->run(usm_f->frame, usm_me->item, usm_f);
    usm_f->ended++;
    usm_f->apart |= usm_f->line != 0;
    if (usm_me->next == usm_f->now) {
        usm_switch(&usm_never, usm_f->main);
    }
    usm_f->fibers[usm_me->before].next = usm_me->next;
    usm_f->fibers[usm_me->next].before = usm_me->before;
    usm_f->now = usm_me->next;
    usm_switch(&usm_never, usm_f->fibers[usm_me->next].sp);
    __builtin_trap();
}

static void usm_fibers_free(struct usm_fibers *usm_f)
{
    if (usm_f->stacks) {
        munmap(usm_f->stacks, (size_t)usm_f->n * (USM_STACK + USM_PAGE));
    }
    __builtin_free(usm_f->fibers);
}

/* Room for groups of n work-items; 1 when memory ran out. One runs without. */
static int usm_fibers_make(struct usm_fibers *usm_f, size_t usm_n)
{
    usm_f->stacks = (void *)0;
    usm_f->fibers = (void *)0;
    usm_f->n = (uint)usm_n;
    if (usm_n == 1) {
        return 0;
    }
    if (usm_n > 0xffffff) {
        return 1;
    }
    usm_f->fibers = __builtin_malloc(usm_n * sizeof(struct usm_fiber));
    /* Read and write; private, anonymous, not reserved. */
    usm_f->stacks = mmap((void *)0, usm_n * (USM_STACK + USM_PAGE), 3, 0x4022, -1, 0);
    if (usm_f->stacks == (void *)-1) {
        usm_f->stacks = (void *)0;
    }
    if (!usm_f->stacks || !usm_f->fibers) {
        usm_fibers_free(usm_f);
        return 1;
    }
    for (size_t usm_i = 0; usm_i < usm_n; usm_i++) {
        /* The system has a limit of such pages: the first ones are guarded, then. */
        if (mprotect(usm_f->stacks + usm_i * (USM_STACK + USM_PAGE), USM_PAGE, 0)) {
            break;
        }
    }
    return 0;
}

/* Runs the group's work-items, n of them. */
static void usm_group(struct usm_fibers *usm_f, size_t usm_n)
{
    if (!usm_f->fibers || usm_n == 1) {
        for (size_t usm_i = 0; usm_i < usm_n; usm_i++) {
            usm_f->run(usm_f->frame, usm_i, (void *)0);
        }
        return;
    }
    for (size_t usm_i = 0; usm_i < usm_n; usm_i++) {
        struct usm_fiber *usm_fiber_i = &usm_f->fibers[usm_i];
        /* Tops at different places of a page, or they would meet in the caches. */
        size_t usm_top = (usm_i + 1) * (USM_STACK + USM_PAGE) - usm_i % 31 * 128;
        void **usm_sp = (void **)(usm_f->stacks + usm_top) - 2;
        *--usm_sp = (void *)0;
#if defined(__x86_64__)
        *--usm_sp = (void *)usm_fiber;
        usm_sp -= USM_SAVED;
        for (int usm_k = 0; usm_k < USM_SAVED; usm_k++) {
            usm_sp[usm_k] = (void *)0;
        }
#else
        usm_sp = (void **)((size_t)usm_sp / 16 * 16) - USM_SAVED;
        for (int usm_k = 0; usm_k < USM_SAVED; usm_k++) {
            usm_sp[usm_k] = (void *)0;
        }
        usm_sp[11] = (void *)usm_fiber;
#endif
        usm_fiber_i->sp = usm_sp;
        usm_fiber_i->item = (uint)usm_i;
        usm_fiber_i->next = (uint)(usm_i + 1 == usm_n ? 0 : usm_i + 1);
        usm_fiber_i->before = (uint)(usm_i == 0 ? usm_n - 1 : usm_i - 1);
    }
    struct usm_fibers *usm_outer = usm_now;
    usm_f->now = usm_f->ended = 0;
    usm_f->line = usm_f->apart = 0;
    usm_now = usm_f;
    usm_switch(&usm_f->main, usm_f->fibers[0].sp);
    usm_now = usm_outer;
}

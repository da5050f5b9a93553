/* Words, numbers and signs of PTX, and the parser's memory. */
#include "ptx.h"

#include <ctype.h>
#include <stdarg.h>

void ptx_fail(ptx_parser *parser, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(parser->message, parser->message_size, "ptxas application ptx input, line %u; error   : %s\n",
             parser->line, text);
    longjmp(parser->failed, 1);
}

/* Blocks begin with a pointer to the one before. */
void *ptx_alloc(ptx_module *module, size_t size)
{
    void **block = calloc(1, size + 16);
    if (block == NULL) {
        abort();
    }
    *block = module->memory;
    module->memory = block;
    return block + 2;
}

void ptx_free(ptx_module *module)
{
    void *block = module->memory;
    free(module);
    while (block != NULL) {
        void *before = *(void **)block;
        free(block);
        block = before;
    }
}

void *ptx_grow(ptx_module *module, void *array, size_t n, size_t size)
{
    bool full = n == 0 || (n >= 4 && (n & (n - 1)) == 0);
    if (!full) {
        return array;
    }
    void *larger = ptx_alloc(module, (n < 4 ? 4 : 2 * n) * size);
    if (n > 0) {
        memcpy(larger, array, n * size);
    }
    return larger;
}

char *ptx_name(ptx_parser *parser)
{
    if (parser->token != TOKEN_WORD) {
        ptx_fail(parser, "a name was expected near '%s'", parser->word);
    }
    char *name = ptx_alloc(parser->module, strlen(parser->word) + 1);
    strcpy(name, parser->word);
    ptx_next(parser);
    return name;
}

static void skip(ptx_parser *parser)
{
    for (;;) {
        while (isspace((unsigned char)*parser->at)) {
            parser->line += *parser->at++ == '\n';
        }
        if (parser->at[0] == '/' && parser->at[1] == '/') {
            while (*parser->at != '\0' && *parser->at != '\n') {
                parser->at++;
            }
        } else if (parser->at[0] == '/' && parser->at[1] == '*') {
            while (*parser->at != '\0' && !(parser->at[0] == '*' && parser->at[1] == '/')) {
                parser->line += *parser->at++ == '\n';
            }
            parser->at += *parser->at != '\0' ? 2 : 0;
        } else {
            return;
        }
    }
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static void lex_number(ptx_parser *parser)
{
    const char *at = parser->at;
    char *end;
    if (at[0] == '0' && (at[1] == 'f' || at[1] == 'F')) {
        parser->token = TOKEN_FLOAT32;
        parser->number = strtoull(at + 2, &end, 16);
    } else if (at[0] == '0' && (at[1] == 'd' || at[1] == 'D')) {
        parser->token = TOKEN_FLOAT64;
        parser->number = strtoull(at + 2, &end, 16);
    } else if (at[0] == '0' && (at[1] == 'b' || at[1] == 'B')) {
        parser->token = TOKEN_INTEGER;
        parser->number = strtoull(at + 2, &end, 2);
    } else {
        parser->token = TOKEN_INTEGER;
        parser->number = strtoull(at, &end, 0);
        bool hexadecimal = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
        if (!hexadecimal && (*end == '.' || *end == 'e' || *end == 'E')) {
            parser->token = TOKEN_DECIMAL;
            parser->decimal = strtod(at, &end);
        }
        end += *end == 'U' || *end == 'u';
    }
    snprintf(parser->word, sizeof parser->word, "%.*s", (int)(end - at), at);
    parser->at = end;
}

void ptx_next(ptx_parser *parser)
{
    skip(parser);
    const char *at = parser->at;
    if (*at == '\0') {
        parser->token = TOKEN_END;
        strcpy(parser->word, "end of the text");
    } else if (isdigit((unsigned char)*at)) {
        lex_number(parser);
    } else if (in_word(*at)) {
        size_t length = 1;
        while (in_word(at[length])) {
            length++;
        }
        if (length >= sizeof parser->word) {
            ptx_fail(parser, "a name of %zu characters", length);
        }
        memcpy(parser->word, at, length);
        parser->word[length] = '\0';
        parser->token = TOKEN_WORD;
        parser->at += length;
    } else if (*at == '"') {
        const char *end = strchr(at + 1, '"');
        parser->token = TOKEN_STRING;
        snprintf(parser->word, sizeof parser->word, "%.*s", end == NULL ? 0 : (int)(end - at - 1), at + 1);
        parser->at = end == NULL ? at + strlen(at) : end + 1;
    } else {
        parser->token = TOKEN_SIGN;
        parser->word[0] = *parser->at++;
        parser->word[1] = '\0';
    }
}

bool ptx_is(const ptx_parser *parser, const char *text)
{
    return (parser->token == TOKEN_WORD || parser->token == TOKEN_SIGN) && strcmp(parser->word, text) == 0;
}

bool ptx_accept(ptx_parser *parser, const char *text)
{
    bool is = ptx_is(parser, text);
    if (is) {
        ptx_next(parser);
    }
    return is;
}

void ptx_expect(ptx_parser *parser, const char *text)
{
    if (!ptx_accept(parser, text)) {
        ptx_fail(parser, "syntax error near '%s': '%s' was expected", parser->word, text);
    }
}

int64_t ptx_integer(ptx_parser *parser)
{
    bool negative = ptx_accept(parser, "-");
    if (parser->token != TOKEN_INTEGER) {
        ptx_fail(parser, "syntax error near '%s': a number was expected", parser->word);
    }
    int64_t value = (int64_t)parser->number;
    ptx_next(parser);
    return negative ? -value : value;
}

/* What only the whole module decides: where shared variables are, whose threads wait for each other. */

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

/* Modules of PTX: variables, functions with their parameters, and what only the whole module decides. */
#include "ptx.h"

static const struct {
    const char *name;
    ptx_type type;
    uint32_t size;
} types[] = {
    {"u8", T_U8, 1},   {"s8", T_S8, 1},   {"b8", T_U8, 1},     {"u16", T_U16, 2},    {"s16", T_S16, 2},
    {"b16", T_U16, 2}, {"f16", T_F16, 2}, {"bf16", T_BF16, 2}, {"u32", T_U32, 4},    {"s32", T_S32, 4},
    {"b32", T_U32, 4}, {"f32", T_F32, 4}, {"f16x2", T_U32, 4}, {"bf16x2", T_U32, 4}, {"u64", T_U64, 8},
    {"s64", T_S64, 8}, {"b64", T_U64, 8}, {"f64", T_F64, 8},   {"pred", T_PRED, 1},
};

ptx_type ptx_type_of(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return types[i].type;
        }
    }
    return T_NONE;
}

uint32_t ptx_size_of(ptx_type type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].type == type) {
            return types[i].size;
        }
    }
    return 0;
}

static uint32_t align_up(uint32_t value, uint32_t align)
{
    return align == 0 ? value : (value + align - 1) / align * align;
}

/* Names of the body. */

static void declare(ptx_parser *parser, ptx_symbol_kind kind, const char *name, uint32_t first,
                    uint32_t count, unsigned depth)
{
    if (parser->n_symbols == parser->room_symbols) {
        parser->room_symbols = parser->room_symbols == 0 ? 64 : 2 * parser->room_symbols;
        ptx_scope_symbol *larger = ptx_alloc(parser->module, parser->room_symbols * sizeof *larger);
        if (parser->n_symbols > 0) {
            memcpy(larger, parser->symbols, parser->n_symbols * sizeof *larger);
        }
        parser->symbols = larger;
    }
    parser->symbols[parser->n_symbols++] = (ptx_scope_symbol){kind, name, first, count, depth};
}

/* %r12 is the 12th of .reg %r<20>: such a symbol has the name before the number. */
ptx_scope_symbol *ptx_symbol(ptx_parser *parser, const char *name, uint32_t *index)
{
    size_t length = strlen(name), digits = length;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') {
        digits--;
    }
    for (size_t i = parser->n_symbols; i-- > 0;) {
        ptx_scope_symbol *symbol = &parser->symbols[i];
        if (symbol->count == 0) {
            if (strcmp(symbol->name, name) == 0) {
                *index = 0;
                return symbol;
            }
        } else if (digits < length && strlen(symbol->name) == digits &&
                   memcmp(symbol->name, name, digits) == 0) {
            *index = (uint32_t)strtoul(name + digits, NULL, 10);
            if (*index < symbol->count) {
                return symbol;
            }
        }
    }
    return NULL;
}

size_t ptx_label(ptx_parser *parser, const char *name)
{
    for (size_t i = 0; i < parser->n_labels; i++) {
        if (strcmp(parser->labels[i].name, name) == 0) {
            return i;
        }
    }
    parser->labels = ptx_grow(parser->module, parser->labels, parser->n_labels, sizeof *parser->labels);
    parser->labels[parser->n_labels].name = name;
    parser->labels[parser->n_labels].at = -1;
    parser->labels[parser->n_labels].targets = NULL;
    parser->labels[parser->n_labels].n_targets = 0;
    return parser->n_labels++;
}

int ptx_function_index(const ptx_module *module, const char *name)
{
    for (size_t i = 0; i < module->n_functions; i++) {
        if (strcmp(module->functions[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

ptx_function *ptx_find(const ptx_module *module, const char *name)
{
    int index = ptx_function_index(module, name);
    return index < 0 ? NULL : &module->functions[index];
}

/* .align 8 .b8 name[2][3]: everything between the state space and the name's end. */
typedef struct declaration {
    const char *name;
    uint32_t size, element, align;
    bool unsized;
} declaration;

static declaration parse_declaration(ptx_parser *parser)
{
    declaration declared = {0};
    uint32_t vector = 1;
    while (parser->token == TOKEN_WORD && parser->word[0] == '.') {
        ptx_type type = ptx_type_of(parser->word + 1);
        if (type != T_NONE) {
            declared.element = ptx_size_of(type);
        } else if (ptx_is(parser, ".align")) {
            ptx_next(parser);
            declared.align = (uint32_t)ptx_integer(parser);
            continue;
        } else if (ptx_is(parser, ".v2") || ptx_is(parser, ".v4")) {
            vector = (uint32_t)(parser->word[2] - '0');
        } else if (strcmp(parser->word, ".ptr") != 0 && strcmp(parser->word, ".global") != 0 &&
                   strcmp(parser->word, ".const") != 0 && strcmp(parser->word, ".shared") != 0 &&
                   strcmp(parser->word, ".local") != 0 && strcmp(parser->word, ".attribute") != 0) {
            ptx_fail(parser, "syntax error near '%s'", parser->word);
        }
        ptx_next(parser);
    }
    declared.name = ptx_name(parser);
    declared.size = declared.element * vector;
    declared.align = declared.align != 0 ? declared.align : declared.size;
    while (ptx_accept(parser, "[")) {
        if (ptx_accept(parser, "]")) {
            declared.unsized = true;
            continue;
        }
        declared.size *= (uint32_t)ptx_integer(parser);
        ptx_expect(parser, "]");
    }
    return declared;
}

/* Variables of the module. */

static uint64_t scalar(ptx_parser *parser, uint32_t element)
{
    bool negative = ptx_accept(parser, "-");
    uint64_t value = parser->number;
    if (parser->token == TOKEN_DECIMAL) {
        double decimal = negative ? -parser->decimal : parser->decimal;
        float single = (float)decimal;
        negative = false;
        value = 0;
        memcpy(&value, element == 4 ? (void *)&single : (void *)&decimal, element == 4 ? 4 : 8);
    } else if (parser->token != TOKEN_INTEGER && parser->token != TOKEN_FLOAT32 &&
               parser->token != TOKEN_FLOAT64) {
        ptx_fail(parser, "an initial value was expected near '%s'", parser->word);
    }
    ptx_next(parser);
    return negative ? 0 - value : value;
}

static uint32_t initialise(ptx_parser *parser, uint32_t at, uint32_t end, uint32_t element)
{
    ptx_module *module = parser->module;
    if (ptx_accept(parser, "{")) {
        while (!ptx_accept(parser, "}")) {
            at = initialise(parser, at, end, element);
            if (!ptx_accept(parser, ",") && !ptx_is(parser, "}")) {
                ptx_fail(parser, "syntax error near '%s'", parser->word);
            }
        }
        return at;
    }
    if (at + element > end) {
        ptx_fail(parser, "more initial values than the variable has room for");
    }
    if (parser->token == TOKEN_WORD) {
        bool generic = ptx_accept(parser, "generic");
        if (generic) {
            ptx_expect(parser, "(");
        }
        ptx_relocation relocation = {at, element, ptx_name(parser), 0};
        if (ptx_accept(parser, "+")) {
            relocation.plus = ptx_integer(parser);
        }
        if (generic) {
            ptx_expect(parser, ")");
            relocation.plus += ptx_accept(parser, "+") ? ptx_integer(parser) : 0;
        }
        module->relocations =
            ptx_grow(module, module->relocations, module->n_relocations, sizeof *module->relocations);
        module->relocations[module->n_relocations++] = relocation;
    } else {
        uint64_t value = scalar(parser, element);
        memcpy(module->data + at, &value, element);
    }
    return at + element;
}

static void add_shared(ptx_parser *parser, const declaration *declared)
{
    ptx_module *module = parser->module;
    module->shared = ptx_grow(module, module->shared, module->n_shared, sizeof *module->shared);
    module->shared[module->n_shared++] = (ptx_shared){
        declared->name, declared->unsized ? 0 : declared->size, declared->align, 0, declared->unsized, false};
}

static void add_variable(ptx_parser *parser, const declaration *declared, bool constant, bool external)
{
    ptx_module *module = parser->module;
    uint32_t offset = align_up(module->data_size, declared->align > 16 ? declared->align : 16);
    unsigned char *data = ptx_alloc(module, offset + declared->size + 16);
    if (module->data_size > 0) {
        memcpy(data, module->data, module->data_size);
    }
    module->data = data;
    module->data_size = offset + declared->size;
    module->variables = ptx_grow(module, module->variables, module->n_variables, sizeof *module->variables);
    module->variables[module->n_variables++] =
        (ptx_variable){declared->name, offset, declared->size, declared->align, constant, external};
    if (ptx_accept(parser, "=")) {
        initialise(parser, offset, offset + declared->size, declared->element);
    }
}

static void parse_variable(ptx_parser *parser, const char *space, bool external)
{
    do {
        declaration declared = parse_declaration(parser);
        if (strcmp(space, ".shared") == 0) {
            add_shared(parser, &declared);
        } else {
            add_variable(parser, &declared, strcmp(space, ".const") == 0, external);
        }
    } while (ptx_accept(parser, ","));
    ptx_expect(parser, ";");
}

/* Functions. */

static ptx_param parse_param(ptx_parser *parser)
{
    ptx_function *function = parser->function;
    ptx_expect(parser, ".param");
    declaration declared = parse_declaration(parser);
    uint32_t offset = align_up(function->frame_size, declared.align);
    function->frame_size = offset + declared.size;
    declare(parser, SYMBOL_PARAM, declared.name, offset, 0, 0);
    return (ptx_param){declared.name, offset, declared.size};
}

static void parse_body_declaration(ptx_parser *parser, unsigned depth)
{
    ptx_function *function = parser->function;
    if (ptx_accept(parser, ".reg")) {
        while (parser->token == TOKEN_WORD && parser->word[0] == '.') {
            if (ptx_type_of(parser->word + 1) == T_NONE) {
                ptx_fail(parser, "registers of type '%s'", parser->word);
            }
            ptx_next(parser);
        }
        do {
            const char *name = ptx_name(parser);
            uint32_t count = 0;
            if (ptx_accept(parser, "<")) {
                count = (uint32_t)ptx_integer(parser);
                ptx_expect(parser, ">");
            }
            declare(parser, SYMBOL_REGISTERS, name, function->slots, count, depth);
            function->slots += count == 0 ? 1 : count;
        } while (ptx_accept(parser, ","));
    } else if (ptx_accept(parser, ".local")) {
        declaration declared = parse_declaration(parser);
        uint32_t offset = align_up(function->local_size, declared.align);
        function->local_size = offset + declared.size;
        declare(parser, SYMBOL_LOCAL, declared.name, offset, 0, depth);
    } else if (ptx_accept(parser, ".shared")) {
        declaration declared = parse_declaration(parser);
        add_shared(parser, &declared);
        declare(parser, SYMBOL_SHARED, declared.name, (uint32_t)parser->module->n_shared - 1, 0, depth);
    } else if (ptx_is(parser, ".param")) {
        ptx_param param = parse_param(parser);
        parser->symbols[parser->n_symbols - 1].depth = depth;
        (void)param;
    } else if (ptx_accept(parser, ".pragma")) {
        ptx_next(parser);
    } else {
        ptx_fail(parser, "the directive '%s' is not known", parser->word);
    }
    ptx_expect(parser, ";");
}

static void skip_line(ptx_parser *parser)
{
    while (*parser->at != '\0' && *parser->at != '\n') {
        parser->at++;
    }
    ptx_next(parser);
}

/* After a label's colon: a table of targets, a prototype, or nothing. */
static void parse_label(ptx_parser *parser, const char *name)
{
    size_t label = ptx_label(parser, name);
    if (ptx_accept(parser, ".branchtargets")) {
        do {
            size_t target = ptx_label(parser, ptx_name(parser));
            struct ptx_label *own = &parser->labels[label];
            own->targets = ptx_grow(parser->module, own->targets, own->n_targets, sizeof *own->targets);
            own->targets[own->n_targets++] = (uint32_t)target;
        } while (ptx_accept(parser, ","));
        ptx_expect(parser, ";");
    } else if (ptx_accept(parser, ".callprototype")) {
        while (!ptx_accept(parser, ";")) {
            ptx_next(parser);
        }
    } else if (parser->labels[label].at >= 0) {
        ptx_fail(parser, "the label '%s' is there twice", name);
    } else {
        parser->labels[label].at = (int64_t)parser->function->n;
    }
}

static void parse_body(ptx_parser *parser)
{
    unsigned depth = 1;
    while (depth > 0) {
        if (parser->token == TOKEN_END) {
            ptx_fail(parser, "the text ends within a function");
        } else if (ptx_accept(parser, "{")) {
            depth++;
        } else if (ptx_is(parser, "}")) {
            while (parser->n_symbols > 0 && parser->symbols[parser->n_symbols - 1].depth == depth) {
                parser->n_symbols--;
            }
            depth--;
            if (depth > 0) {
                ptx_next(parser);
            }
        } else if (ptx_is(parser, ".loc")) {
            skip_line(parser);
        } else if (parser->token == TOKEN_WORD && parser->word[0] == '.') {
            parse_body_declaration(parser, depth);
        } else if (parser->token == TOKEN_WORD && *parser->at == ':') {
            const char *name = ptx_name(parser);
            ptx_expect(parser, ":");
            parse_label(parser, name);
        } else if (parser->token == TOKEN_WORD && strncmp(parser->at, " :", 2) == 0) {
            const char *name = ptx_name(parser);
            ptx_expect(parser, ":");
            parse_label(parser, name);
        } else if (!ptx_accept(parser, ";")) {
            ptx_decode(parser);
        }
    }
    ptx_next(parser);
}

static ptx_function *function_named(ptx_parser *parser, const char *name)
{
    ptx_module *module = parser->module;
    ptx_function *function = ptx_find(module, name);
    if (function == NULL) {
        module->functions =
            ptx_grow(module, module->functions, module->n_functions, sizeof *module->functions);
        function = &module->functions[module->n_functions++];
        memset(function, 0, sizeof *function);
        function->name = name;
    }
    return function;
}

static void parse_limits(ptx_parser *parser, ptx_function *function)
{
    while (!ptx_is(parser, "{") && !ptx_is(parser, ";")) {
        if (ptx_is(parser, ".maxntid") || ptx_is(parser, ".reqntid")) {
            bool required = ptx_is(parser, ".reqntid");
            int limits[3] = {1, 1, 1};
            ptx_next(parser);
            for (int i = 0; i < 3; i++) {
                limits[i] = (int)ptx_integer(parser);
                if (!ptx_accept(parser, ",")) {
                    break;
                }
            }
            function->max_threads = limits[0] * limits[1] * limits[2];
            if (required) {
                memcpy(function->required, limits, sizeof limits);
            }
        } else if (parser->token == TOKEN_END) {
            ptx_fail(parser, "the text ends within the head of a function");
        } else {
            ptx_next(parser);
        }
    }
}

static void parse_function(ptx_parser *parser, bool entry)
{
    ptx_function head = {0};
    parser->n_symbols = parser->n_labels = 0;
    parser->labels = NULL;
    parser->function = &head;
    if (ptx_accept(parser, "(")) {
        head.has_result = true;
        head.result = parse_param(parser);
        ptx_expect(parser, ")");
    }
    const char *name = ptx_name(parser);
    /* Arguments come first in the frame: a launch copies them there as they are. */
    uint32_t result_size = head.frame_size;
    head.frame_size = 0;
    if (ptx_accept(parser, "(") && !ptx_accept(parser, ")")) {
        do {
            ptx_param param = parse_param(parser);
            head.params = ptx_grow(parser->module, head.params, head.n_params, sizeof *head.params);
            head.params[head.n_params++] = param;
        } while (ptx_accept(parser, ","));
        ptx_expect(parser, ")");
    }
    head.params_size = head.frame_size;
    if (head.has_result) {
        head.result.offset = align_up(head.frame_size, 16);
        head.frame_size = head.result.offset + result_size;
        parser->symbols[0].first = head.result.offset;
    }
    parse_limits(parser, &head);
    ptx_function *function = function_named(parser, name);
    if (ptx_accept(parser, ";")) {
        return;
    }
    if (function->defined) {
        ptx_fail(parser, "the function '%s' is defined twice", name);
    }
    head.name = name;
    head.entry = entry;
    head.defined = true;
    head.slots = S_COUNT;
    *function = head;
    parser->function = function;
    function->shared_used = ptx_alloc(parser->module, 4096);
    ptx_expect(parser, "{");
    parse_body(parser);
    ptx_resolve(parser);
}

static void skip_section(ptx_parser *parser)
{
    while (!ptx_is(parser, "{") && parser->token != TOKEN_END) {
        ptx_next(parser);
    }
    while (!ptx_is(parser, "}") && parser->token != TOKEN_END) {
        ptx_next(parser);
    }
    ptx_next(parser);
}

static void parse_module(ptx_parser *parser)
{
    bool external = false;
    if (!ptx_is(parser, ".version")) {
        ptx_fail(parser, "Missing .version directive at start of file '%s'", parser->word);
    }
    while (parser->token != TOKEN_END) {
        char word[64];
        snprintf(word, sizeof word, "%.63s", parser->word);
        if (parser->token != TOKEN_WORD) {
            ptx_fail(parser, "syntax error near '%s'", parser->word);
        }
        if (strcmp(word, ".file") == 0 || strcmp(word, ".loc") == 0) {
            skip_line(parser);
            continue;
        }
        ptx_next(parser);
        if (strcmp(word, ".version") == 0) {
            parser->module->version = (int)(parser->decimal * 10 + 0.5);
            ptx_next(parser);
        } else if (strcmp(word, ".target") == 0) {
            parser->module->target = parser->word[0] == 's' ? (int)strtol(parser->word + 3, NULL, 10) : 0;
            do {
                ptx_next(parser);
            } while (ptx_accept(parser, ","));
        } else if (strcmp(word, ".address_size") == 0) {
            if (ptx_integer(parser) != 64) {
                ptx_fail(parser, "only addresses of 64 bits");
            }
        } else if (strcmp(word, ".visible") == 0 || strcmp(word, ".weak") == 0 ||
                   strcmp(word, ".common") == 0) {
            external = false;
        } else if (strcmp(word, ".extern") == 0) {
            external = true;
        } else if (strcmp(word, ".entry") == 0 || strcmp(word, ".func") == 0) {
            parse_function(parser, strcmp(word, ".entry") == 0);
            external = false;
        } else if (strcmp(word, ".global") == 0 || strcmp(word, ".const") == 0 ||
                   strcmp(word, ".shared") == 0) {
            parse_variable(parser, word, external);
            external = false;
        } else if (strcmp(word, ".section") == 0) {
            skip_section(parser);
        } else if (strcmp(word, ".pragma") == 0) {
            ptx_next(parser);
            ptx_expect(parser, ";");
        } else {
            ptx_fail(parser, "the directive '%s' is not known", word);
        }
    }
}

ptx_module *ptx_parse(const char *text, char *message, size_t size)
{
    ptx_parser *parser = calloc(1, sizeof *parser);
    ptx_module *volatile module = calloc(1, sizeof *module);
    parser->at = text;
    parser->line = 1;
    parser->module = module;
    parser->message = message;
    parser->message_size = size;
    if (setjmp(parser->failed) != 0) {
        ptx_free(module);
        free(parser);
        return NULL;
    }
    ptx_next(parser);
    parse_module(parser);
    for (size_t i = 0; i < module->n_functions; i++) {
        const ptx_function *function = &module->functions[i];
        for (size_t j = 0; j < function->n_calls; j++) {
            int callee = function->call_sites[j].callee;
            if (callee >= 0 && !module->functions[callee].defined) {
                ptx_fail(parser, "Unresolved extern function '%s'", module->functions[callee].name);
            }
        }
    }
    ptx_link(module);
    free(parser);
    return module;
}

/* Instructions of PTX become operations over slots. */
#include "ptx_decode.h"

static void split(ptx_parser *parser, statement *s)
{
    snprintf(s->text, sizeof s->text, "%.159s", parser->word);
    ptx_next(parser);
    while (ptx_accept(parser, ":")) { /* .shared::cta, .L1::no_allocate */
        ptx_expect(parser, ":");
        size_t length = strlen(s->text);
        snprintf(s->text + length, sizeof s->text - length, "::%.30s", parser->word);
        ptx_next(parser);
    }
    for (char *part = s->text; part != NULL && s->n_parts < MAX_PARTS;) {
        char *dot = strchr(part, '.');
        if (dot != NULL) {
            *dot = '\0';
        }
        s->parts[s->n_parts++] = part;
        part = dot == NULL ? NULL : dot + 1;
    }
}

void ptx_decode(ptx_parser *parser)
{
    statement s = {0};
    ptx_function *function = parser->function;
    parser->statement = parser->line;
    uint32_t guard = 0, index;
    bool guarded = ptx_accept(parser, "@"), negated = guarded && ptx_accept(parser, "!");
    if (guarded) {
        const char *name = ptx_name(parser);
        const ptx_scope_symbol *symbol = ptx_symbol(parser, name, &index);
        if (symbol == NULL || symbol->kind != SYMBOL_REGISTERS) {
            ptx_fail(parser, "Unknown symbol '%s'", name);
        }
        guard = symbol->first + index;
    }
    if (parser->token != TOKEN_WORD) {
        ptx_fail(parser, "syntax error near '%s'", parser->word);
    }
    split(parser, &s);
    size_t skip = function->n;
    bool branches = strcmp(s.parts[0], "bra") == 0;
    if (guarded && !branches) {
        ptx_emit(parser, negated ? OP_BRA_IF : OP_BRA_UNLESS, 0, guard, 0, 0, 0)->x =
            1; /* its distance is known */
    }
    while (!ptx_accept(parser, ";")) {
        if (s.n == sizeof s.operands / sizeof *s.operands) {
            ptx_fail(parser, "too many arguments for instruction '%s'", s.parts[0]);
        }
        ptx_operand(parser, &s.operands[s.n++]);
        if (!ptx_accept(parser, ",") && !ptx_is(parser, ";")) {
            ptx_fail(parser, "syntax error near '%s'", parser->word);
        }
    }
    if (!ptx_decode_memory(parser, &s) && !ptx_decode_control(parser, &s)) {
        ptx_decode_arithmetic(parser, &s);
    }
    if (guarded && branches) {
        function->code[function->n - 1].op = negated ? OP_BRA_UNLESS : OP_BRA_IF;
        function->code[function->n - 1].a = guard;
    } else if (guarded) {
        function->code[skip].imm = (int32_t)(function->n - skip);
    }
}

void ptx_resolve(ptx_parser *parser)
{
    ptx_function *function = parser->function;
    ptx_emit(parser, function->entry ? OP_EXIT : OP_RET, 0, 0, 0, 0, 0);
    size_t n = function->n;
    for (size_t i = 0; i < n; i++) {
        ptx_ins *ins = &function->code[i];
        bool branch =
            ins->op == OP_BRA || ((ins->op == OP_BRA_IF || ins->op == OP_BRA_UNLESS) && ins->x == 0);
        if (branch || ins->op == OP_BRX) {
            const struct ptx_label *label = &parser->labels[ins->imm];
            if (ins->op == OP_BRX) {
                /* The table is a run of branches at the end of the code. */
                size_t table = function->n, n_targets = label->n_targets;
                const uint32_t *targets = label->targets;
                for (size_t j = 0; j < n_targets; j++) {
                    const struct ptx_label *to = &parser->labels[targets[j]];
                    if (to->at < 0) {
                        ptx_fail(parser, "Unknown symbol '%s'", to->name);
                    }
                    ptx_emit(parser, OP_BRA, 0, 0, 0, 0, to->at - (int64_t)function->n);
                }
                ins = &function->code[i];
                ins->imm = (int32_t)(table - i);
                ins->b = (uint32_t)n_targets;
            } else if (label->at < 0) {
                ptx_fail(parser, "Unknown symbol '%s'", label->name);
            } else {
                ins->imm = (int32_t)(label->at - (int64_t)i);
            }
        }
    }
}

/* SPDX-License-Identifier: 0BSD
 *
 * The DPI side of softfloat_ref_pkg: starts `softfloat-ref eval --serve` and passes lines to and from it through a
 * pair of pipes. It contains no numerics. The program is $SOFTFLOAT_REF, a path, or else softfloat-ref on PATH. For
 * operations of the C library, the program compiles a function, once; it is loaded and called here.
 *
 * C99 and C++ (some simulators compile every source as C++), POSIX. One thread at a time may call it.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "svdpi.h"

#if defined(__GNUC__) /* a simulator that is linked without them asks the program */
#pragma weak dlopen
#pragma weak dlsym
#endif

enum {
    MAX_OPERANDS = 10, /* as in softfloat_ref_pkg.sv; the random bits of a stochastic rounding are one of them */
    WORDS = 4,         /* of 32 bits, in a code of up to 128 */
    COMPILED = 3,      /* operands of a compiled function, at most */
    MAX_SHOWN = 60,    /* characters of a request, in what is said of it */
    MAX_LINE = 4096,
    LOOKS = 500
};

extern char **environ;

static struct {
    pid_t pid; /* 0: not started */
    int to, from;
} server;

static char answer[MAX_LINE + 1]; /* the last line read, without its newline */
static char message[MAX_LINE + 256];

typedef void (*one_operand)(uint64_t, uint64_t *, uint64_t *);
typedef void (*two_operands)(uint64_t, uint64_t, uint64_t *, uint64_t *);
typedef void (*three_operands)(uint64_t, uint64_t, uint64_t, uint64_t *, uint64_t *);

/* A context's number is its index here and in the server. */
typedef struct {
    char *line; /* that opened it */
    int count, width;
    int widths[COMPILED];
    void *function; /* compiled: of `count` operands of these widths; NULL: there is none */
} context;
static context *contexts;
static int context_count;

static int fail(const char *what, const char *detail) {
    snprintf(message, sizeof message, "softfloat-ref: %s%s", what, detail);
    return -1;
}

/* ---------------------------------------------------------------- the process */

static const char *program(void) {
    const char *path = getenv("SOFTFLOAT_REF");
    return path && *path ? path : "softfloat-ref";
}

/* A pipe that no other child of the simulator inherits. */
static int make_pipe(int ends[2]) {
    if (pipe(ends) != 0) return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

/* In a process group of its own, so that a Ctrl-C meant for the simulator does not end it; the end of its input does. */
static int spawn(int in, int out) {
    char name[] = "softfloat-ref", command[] = "eval", option[] = "--serve";
    char *argv[] = {name, command, option, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failure;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    failure = posix_spawnp(&server.pid, program(), &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failure) server.pid = 0;
    return failure;
}

static int start(void) {
    int in[2], out[2], failure;
    char detail[512];

    if (server.pid) return 0;
    if (make_pipe(in) != 0) return fail("no pipe to the server: ", strerror(errno));
    if (make_pipe(out) != 0) {
        close(in[0]);
        close(in[1]);
        return fail("no pipe from the server: ", strerror(errno));
    }
    failure = spawn(in[0], out[1]);
    close(in[0]);
    close(out[1]);
    server.to = in[1];
    server.from = out[0];
    if (!failure) return 0;
    close(server.to);
    close(server.from);
    snprintf(detail, sizeof detail, "%s (%s); pip install softfloat-ref, or set SOFTFLOAT_REF to its path", program(),
             strerror(failure));
    return fail("cannot start ", detail);
}

/* The server closed its end: report how it ended, and drop it and its contexts. */
static int died(void) {
    char detail[128];
    int status = 0;

    close(server.to);
    close(server.from);
    waitpid(server.pid, &status, 0);
    server.pid = 0;
    while (context_count > 0) free(contexts[--context_count].line);
    if (WIFSIGNALED(status)) snprintf(detail, sizeof detail, " was killed by signal %d", WTERMSIG(status));
    else snprintf(detail, sizeof detail, " ended with exit code %d", WEXITSTATUS(status));
    snprintf(message, sizeof message, "softfloat-ref: the server (%.256s eval --serve)%s; its own message is above",
             program(), detail);
    return -1;
}

/* ---------------------------------------------------------------- one request, one answer */

/* A pipe without a reader must not end the simulator by a signal. */
static int write_all(const char *line, size_t length) {
    struct sigaction ignore, before;
    ssize_t written = 0;

    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);
    while (length > 0 && written >= 0) {
        written = write(server.to, line, length);
        if (written < 0 && errno == EINTR) written = 0;
        if (written > 0) {
            line += written;
            length -= (size_t)written;
        }
    }
    sigaction(SIGPIPE, &before, NULL);
    return length == 0 ? 0 : -1;
}

/* Looks for an answer for a moment before sleeping: waking up takes several times as long as an answer. */
static void look_for_answer(void) {
    struct pollfd from;
    int turn;

    from.fd = server.from;
    from.events = POLLIN;
    for (turn = 0; turn < LOOKS && poll(&from, 1, 0) == 0; turn++) sched_yield();
}

static int read_line(void) {
    size_t length = 0;

    while (length < MAX_LINE) {
        ssize_t count;

        look_for_answer();
        count = read(server.from, answer + length, MAX_LINE - length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return -1;
        length += (size_t)count;
        if (answer[length - 1] == '\n') { /* exactly one line is under way */
            answer[length - 1] = '\0';
            return 0;
        }
    }
    answer[MAX_LINE] = '\0';
    return 0;
}

/* 0, and the answer in `answer`; -1, and the reason in `message`. */
static int ask(const char *line, size_t length) {
    if (write_all(line, length) != 0 || read_line() != 0) return died();
    if (strncmp(answer, "error ", 6) == 0) return fail("", answer + 6);
    return 0;
}

static int misunderstood(void) {
    char detail[128];

    snprintf(detail, sizeof detail, "%.40s answered '%.60s'", program(), answer);
    return fail("this program is not softfloat-ref eval --serve: ", detail);
}

/* ---------------------------------------------------------------- lines */

static char *put_hex(char *at, const svBitVecVal *code) {
    static const char digits[] = "0123456789abcdef";
    int word = WORDS - 1, shift = 28;

    while (word > 0 && code[word] == 0) word--;
    while (shift > 0 && code[word] >> shift == 0) shift -= 4;
    for (; word >= 0; word--, shift = 28)
        for (; shift >= 0; shift -= 4) *at++ = digits[code[word] >> shift & 15];
    return at;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The text after the digits; NULL if there are none, or too many. */
static const char *get_hex(const char *at, svBitVecVal *code, int words) {
    const char *begin = at;
    int i;

    memset(code, 0, sizeof(svBitVecVal) * (size_t)words);
    for (; hex_digit(*at) >= 0; at++) {
        if (code[words - 1] >> 28) return NULL;
        for (i = words - 1; i > 0; i--) code[i] = code[i] << 4 | code[i - 1] >> 28;
        code[0] = code[0] << 4 | (svBitVecVal)hex_digit(*at);
    }
    return at == begin ? NULL : at;
}

static int find_context(const char *line) {
    int i;

    for (i = 0; i < context_count; i++)
        if (strcmp(contexts[i].line, line) == 0) return i;
    return -1;
}

static int remember_context(const char *line) {
    context *more = (context *)realloc(contexts, sizeof(context) * (size_t)(context_count + 1));

    if (more) contexts = more;
    if (!more || !(contexts[context_count].line = (char *)malloc(strlen(line) + 1))) return fail("out of memory", "");
    strcpy(contexts[context_count].line, line);
    contexts[context_count].function = NULL;
    return context_count++;
}

/* ---------------------------------------------------------------- compiled functions */

/* The widths of a context's fields, in the server's answer: "context 0 a=16 b=16 result=16"; 0 for others. */
static int read_widths(context *c, const char *fields) {
    int length;

    for (c->count = 0; c->count < COMPILED && strncmp(fields, " result=", 8) != 0; c->count++) {
        if (sscanf(fields, " %*[a-z]=%d%n", &c->widths[c->count], &length) != 1) return 0;
        if (c->widths[c->count] > 64) return 0;
        fields += length;
    }
    return sscanf(fields, " result=%d%n", &c->width, &length) == 1 && fields[length] == '\0' && c->width <= 64;
}

/* NULL, with the function in place; or why predictions are those of the server. */
static const char *load(context *c, int number, const char *fields) {
    char line[32];
    void *library;

    if (!read_widths(c, fields)) return "the C library does not have it";
    if (ask(line, (size_t)sprintf(line, "library %d\n", number)) != 0) return message;
    if (strncmp(answer, "library ", 8) != 0) return strncmp(answer, "process ", 8) == 0 ? answer + 8 : answer;
    if (!dlopen || !dlsym) return "the simulator has no dlopen";
    library = dlopen(answer + 8, RTLD_NOW | RTLD_LOCAL);
    c->function = library ? dlsym(library, "unit") : NULL;
    return c->function ? NULL : "its library cannot be loaded";
}

/* 0, and the result and flags; 1 if there is no function, or an operand does not fit: the server says which. */
static int compute(const context *c, int count, const uint64_t *codes, uint64_t *result, uint64_t *flags) {
    one_operand one;
    two_operands two;
    three_operands three;
    int i;

    if (!c->function || count != c->count) return 1;
    for (i = 0; i < count; i++)
        if (codes[i] >> (c->widths[i] - 1) >> 1) return 1;
    switch (count) { /* ISO C has no cast from void * to a function */
    case 1: memcpy(&one, &c->function, sizeof one); one(codes[0], result, flags); return 0;
    case 2: memcpy(&two, &c->function, sizeof two); two(codes[0], codes[1], result, flags); return 0;
    case 3: memcpy(&three, &c->function, sizeof three); three(codes[0], codes[1], codes[2], result, flags); return 0;
    default: return 1;
    }
}

/* The same, of codes of 128 bits. */
static int compute_wide(const context *c, int count, const svBitVecVal *operands, svBitVecVal *result, int *flags) {
    uint64_t codes[COMPILED] = {0}, code, raised;
    int i;

    if (count > COMPILED) return 1;
    for (i = 0; i < count; i++, operands += WORDS) {
        if (operands[2] | operands[3]) return 1;
        codes[i] = (uint64_t)operands[1] << 32 | operands[0];
    }
    if (compute(c, count, codes, &code, &raised) != 0) return 1;
    memset(result, 0, sizeof(svBitVecVal) * WORDS);
    result[0] = (svBitVecVal)code;
    result[1] = (svBitVecVal)(code >> 32);
    *flags = (int)raised;
    return 0;
}

/* 0, and the answer to a line of operands in `answer`; 1 if the server has to be asked. */
static int compute_line(const context *c, const char *operands) {
    uint64_t codes[COMPILED] = {0}, result, flags;
    svBitVecVal words[2];
    const char *at = operands;
    int count = 0;

    if (!c->function) return 1;
    for (at += strspn(at, " "); *at && count < c->count; at += strspn(at, " ")) {
        if (!(at = get_hex(at, words, 2))) return 1;
        codes[count++] = (uint64_t)words[1] << 32 | words[0];
    }
    if (*at || compute(c, count, codes, &result, &flags) != 0) return 1;
    sprintf(answer, "%0*" PRIx64 " %02" PRIx64, (c->width + 3) / 4, result, flags);
    return 0;
}

/* ---------------------------------------------------------------- functions that the package imports */

#ifdef __cplusplus
extern "C" {
#endif

/* A context's number, or -1. The same request has the same context. */
int sf_dpi_open(const char *op, const char *fmt, const char *out, const char *options) {
    char line[MAX_LINE], fields[128] = "";
    const char *width, *why;
    int length, handle, number, end = 0;

    length = snprintf(line, sizeof line, "open %s%s%s%s%s%s%s", op, *fmt ? " --fmt " : "", fmt, *out ? " --out " : "", out,
                      *options ? " " : "", options);
    if (length < 0 || length + 1 >= MAX_LINE) return fail("sf_open: the request is too long", "");
    if (strpbrk(line, "\n\r")) return fail("sf_open: a name contains a line break", "");
    handle = find_context(line);
    if (handle >= 0) return handle;
    if (start() != 0) return -1;
    line[length] = '\n';
    if (ask(line, (size_t)length + 1) != 0) return -1;
    line[length] = '\0';
    width = strstr(answer, " result=");
    if (sscanf(answer, "context %d %n", &number, &end) != 1 || end == 0 || number != context_count) return misunderstood();
    if (width && atoi(width + strlen(" result=")) > 32 * WORDS) {
        remember_context(""); /* the server has numbered it: keep the numbers in step */
        return fail("sf_open: the result has more than 128 bits", "");
    }
    strncat(fields, answer + end - 1, sizeof fields - 1);
    handle = remember_context(line);
    if (handle < 0) return -1;
    why = load(&contexts[handle], handle, fields);
    if (!server.pid) return -1;
    fprintf(stderr, "softfloat-ref: %.*s: predicted by %s%s\n", MAX_SHOWN, line + strlen("open "),
            why ? "a Python process: " : "compiled C", why ? why : "");
    return handle;
}

/* 0, the result and the flags; or -1. operands: `count` codes of 128 bits, the first one lowest. */
int sf_dpi_predict(int handle, int count, const svBitVecVal *operands, svBitVecVal *result, int *flags) {
    char line[32 + MAX_OPERANDS * (8 * WORDS + 1)], *end = line;
    const char *rest;
    svBitVecVal raised;
    int i;

    if (handle < 0 || handle >= context_count) return fail("invalid handle; sf_open returns one", "");
    if (compute_wide(&contexts[handle], count, operands, result, flags) == 0) return 0;
    if (count < 0 || count > MAX_OPERANDS) return fail("too many operands", "");
    end += sprintf(end, "%d", handle);
    for (i = 0; i < count; i++) {
        *end++ = ' ';
        end = put_hex(end, operands + WORDS * i);
    }
    *end++ = '\n';
    if (ask(line, (size_t)(end - line)) != 0) return -1;
    rest = get_hex(answer, result, WORDS);
    if (!rest) return misunderstood();
    raised = 0; /* a unit without flags raises none */
    if (*rest && (*rest != ' ' || !(rest = get_hex(rest + 1, &raised, 1)))) return misunderstood();
    if (*rest) return fail("the answer has several codes; use sf_predict_line", "");
    *flags = (int)raised;
    return 0;
}

/* 0, the result and the flags of up to three codes of 64 bits, by a compiled function; 1 if sf_dpi_predict has to. */
int sf_dpi_words(int handle, int count, uint64_t a, uint64_t b, uint64_t c, uint64_t *result, int *flags) {
    uint64_t codes[COMPILED], raised = 0;

    codes[0] = a;
    codes[1] = b;
    codes[2] = c;
    if (handle < 0 || handle >= context_count || compute(&contexts[handle], count, codes, result, &raised) != 0) return 1;
    *flags = (int)raised;
    return 0;
}

/* 0, and the whole answer to a line of operands, for any unit; or -1. */
int sf_dpi_answer(int handle, const char *operands, const char **codes) {
    char line[MAX_LINE];
    int length;

    *codes = "";
    if (handle < 0 || handle >= context_count) return fail("invalid handle; sf_open returns one", "");
    if (compute_line(&contexts[handle], operands) == 0) {
        *codes = answer;
        return 0;
    }
    if (strpbrk(operands, "\n\r")) return fail("sf_predict_line: the operands contain a line break", "");
    length = snprintf(line, sizeof line, "%d %s\n", handle, operands);
    if (length < 0 || length >= MAX_LINE) return fail("sf_predict_line: too many operands", "");
    if (ask(line, (size_t)length) != 0) return -1;
    *codes = answer;
    return 0;
}

/* Why the last call failed. */
const char *sf_dpi_message(void) { return message; }

#ifdef __cplusplus
}
#endif

/* Host part: `calls NAME` does one list of calls, and compares what each returns and prints.
 *
 *     IS(call, value)          returns the value and prints nothing
 *     SAYS(call, value, text)  returns the value and prints the lines
 *     EQ(call, value)          returns the value; SAID below compares what it prints later
 *     SAID(text)               the lines printed since the last comparison
 *     SAID_LATER(text)         the same, when there is one
 *
 * In lines, `...` is an address of the host or a path. Places in the device part are left out. */
#define _GNU_SOURCE
#include <libflexio/flexio.h>
#include <infiniband/mlx5dv.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern struct flexio_app *calls;

static const char *list;
static int printed, errors;

__attribute__((noreturn))
static void fail(int line, const char *what, const char *found, const char *wanted)
{
	dprintf(errors, "%s.c:%d: %s\n  is     %s\n  wanted %s\n", list, line, what, found, wanted);
	_exit(1);
}

/* A word without what differs from machine to machine. */
static const char *plain(const char *word)
{
	size_t bare = strlen(word);

	while (bare && strchr(",;", word[bare - 1]))
		bare--;
	if (bare == 14 && !strncmp(word, "0x", 2) && word[2] != '2')
		return "...";
	return strncmp(word, "/proc/", 6) ? word : "...";
}

static void without_place(char *line)
{
	char *place = NULL;

	for (char *next = line; (next = strstr(next, ", at ")); next++)
		place = next;
	if (place && strstr(place, "/device.c:"))
		*place = 0;
}

/* Whether anything was printed since the last time. */
static int is_printed(void)
{
	struct stat file;

	return !fstat(printed, &file) && file.st_size > lseek(printed, 0, SEEK_CUR);
}

/* Compares what was printed since the last time. */
static void said(int line, const char *wanted)
{
	static char found[1 << 16], all[1 << 16];
	char *each, *word, *rest = found, *more;
	ssize_t bytes = read(printed, found, sizeof(found) - 1);

	found[bytes > 0 ? bytes : 0] = *all = 0;
	while ((each = strsep(&rest, "\n")) && (rest || *each)) {
		without_place(each);
		for (more = each; (word = strsep(&more, " "));)
			strcat(strcat(all, plain(word)), more ? " " : rest && *rest ? "\n" : "");
	}
	if (strcmp(all, wanted))
		fail(line, "what was printed", all, wanted);
}

static void equal(int line, const char *what, uint64_t found, uint64_t wanted)
{
	char texts[2][24];

	sprintf(texts[0], "%#lx", found);
	sprintf(texts[1], "%#lx", wanted);
	if (found != wanted)
		fail(line, what, texts[0], texts[1]);
}

static void text(int line, const char *what, const char *found, const char *wanted)
{
	if (strcmp(found, wanted))
		fail(line, what, found, wanted);
}

/* Bytes in hexadecimal, with a space behind each four. */
static void bytes(int line, const char *what, const void *from, const char *wanted)
{
	char found[2048] = "", *to = found;

	for (const uint8_t *byte = from; strlen(found) < strlen(wanted); byte++)
		to += sprintf(to, "%s%02x", (to - found) % 9 == 8 ? " " : "", *byte);
	text(line, what, found, wanted);
}

static void wait_a_moment(int line, const char *what, int *waited)
{
	if (++*waited > 60000)
		fail(line, what, "never", "at some time");
	usleep(1000);
}

#define AT(x) ((uint8_t *)(uintptr_t)(x))
#define WORD(x) (*(volatile uint64_t *)AT(x))
#define EQ(call, value) equal(__LINE__, #call, (uint64_t)(call), (uint64_t)(value))
#define SAID(lines) said(__LINE__, lines)
#define SAID_LATER(lines) \
	do { \
		UNTIL(is_printed(), 1); \
		SAID(lines); \
	} while (0)
#define SAYS(call, value, lines) (EQ(call, value), SAID(lines))
#define IS(call, value) SAYS(call, value, "")
#define TEXT(call, wanted) text(__LINE__, #call, call, wanted)
#define BYTES(from, wanted) bytes(__LINE__, #from, AT(from), wanted)
#define UNTIL(call, value) \
	for (int waited = 0; (uint64_t)(call) != (value);) \
		wait_a_moment(__LINE__, #call, &waited)
/* Waits for a completion where none was. All of it that the NIC writes. */
#define COMPLETION(entry, wanted) \
	do { \
		UNTIL(__atomic_load_n(AT(entry) + 63, __ATOMIC_ACQUIRE) == 0xff, 0); \
		BYTES(AT(entry) + 32, wanted); \
	} while (0)

/* Values in the order of the wire, each with its number of bytes. */
static void poke(uint8_t *to, const uint64_t *pairs, size_t count)
{
	for (; count > 1; count -= 2, pairs += 2)
		for (uint64_t left = pairs[1]; left--;)
			*to++ = left < 8 ? (uint8_t)(pairs[0] >> 8 * left) : 0;
}

static void words(uint8_t *to, const uint64_t *values, size_t count)
{
	for (; count--; to += 8)
		poke(to, (uint64_t[]){ *values++, 8 }, 2);
}

#define ARRAY(...) (const uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8
#define POKE(to, ...) poke(AT(to), ARRAY(__VA_ARGS__))
#define WORDS(to, ...) words(AT(to), ARRAY(__VA_ARGS__))

/* A call of the device part. */
static uint64_t remote(struct flexio_process *process, const char *name, const uint64_t *v)
{
	flexio_func_t *stub;
	uint64_t result = 0;
	int status;

	flexio_func_register(calls, name, &stub);
	status = flexio_process_call(process, stub, &result, v[0], v[1], v[2], v[3], v[4], v[5], v[6],
				     v[7], v[8], v[9], v[10]);
	if (status)
		printf("status %d\n", status);
	return result;
}

#define CALL(process, name, ...) remote(process, #name, (const uint64_t[11]){ __VA_ARGS__ })

/* A block of the heap with this byte everywhere. */
static uint64_t filled(struct flexio_process *process, size_t bytes, int byte)
{
	flexio_uintptr_t at = 0;

	IS(flexio_buf_dev_alloc(process, bytes, &at), 0);
	IS(flexio_buf_dev_memset(process, byte, bytes, at), 0);
	return at;
}

/* Leads a pair of queues through its states. */
#define CONNECT(qp, reset, init, rtr, rts) \
	do { \
		IS(flexio_qp_modify(qp, reset, NULL), 0); \
		IS(flexio_qp_modify(qp, init, NULL), 0); \
		IS(flexio_qp_modify(qp, rtr, NULL), 0); \
		IS(flexio_qp_modify(qp, rts, NULL), 0); \
	} while (0)

#include "access.c"
#include "frames.c"
#include "pairs.c"
#include "process.c"
#include "queues.c"
#include "steering.c"
#include "two.c"
#include "versions.c"
#include "windows.c"

static const struct {
	const char *name;
	void (*calls)(void);
} lists[] = {
	{ "access", access_calls }, { "frames", frame_calls }, { "pairs", pair_calls },
	{ "process", process_calls }, { "queues", queue_calls }, { "steering", steering_calls },
	{ "two", two_calls }, { "versions", version_calls }, { "windows", window_calls },
};

int main(int count, char **words)
{
	int file = memfd_create("printed", 0);
	char path[32];

	/* Both ends have a place of their own in the file. */
	sprintf(path, "/proc/self/fd/%d", file);
	printed = open(path, O_RDONLY);
	errors = dup(2);
	dup2(file, 1);
	dup2(file, 2);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t at = 0; count == 2 && at < sizeof(lists) / sizeof(*lists); at++)
		if (!strcmp(lists[at].name, words[1])) {
			list = words[1];
			lists[at].calls();
			dup2(errors, 2);
			return 0;
		}
	dprintf(errors, "calls NAME\n");
	return 2;
}

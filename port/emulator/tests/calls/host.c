/* Host part: does the calls of a script, which it repeats with what they answer.
 *
 *     > call word...            prints the call's status or answer
 *     > name = call word...     keeps it
 *     > name = structure field=word...
 *
 * A word is a number, a name, a sum of both, "text", *word (what lies there), &name (the place of
 * what it names). */
#define _GNU_SOURCE
#include <libflexio/flexio.h>
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>

extern struct flexio_app *calls;

#define F(structure, field) { "flexio_" #structure "_attr." #field, \
			      offsetof(struct flexio_##structure##_attr, field), \
			      sizeof(((struct flexio_##structure##_attr *)0)->field) }
#define H(field) F(event_handler, field)
#define CQ(field) F(cq, field)
#define WQ(field) F(wq, field)
#define QP(field) F(qp, field)
static const struct { const char *name; size_t at, bytes; } fields[] = {
	F(app, app_name), F(app, app_ptr), F(app, app_bsize), F(app_select, app_name), F(process, pd), F(process, uar),
	H(host_stub_func), H(arg), H(thread_local_storage_daddr), H(affinity.type), H(affinity.id),
	F(cmdq, workers), F(cmdq, batch_size), F(cmdq, state), F(mkey, pd), F(mkey, daddr), F(mkey, len),
	F(mkey, access), CQ(log_cq_depth), CQ(element_type), CQ(cqe_comp_type), CQ(cc), CQ(no_arm),
	CQ(always_armed), CQ(overrun_ignore), CQ(thread), CQ(cq_dbr_daddr), CQ(cq_ring_qmem.daddr),
	CQ(cq_ring_qmem.memtype), WQ(log_wq_stride), WQ(log_wq_depth), WQ(user_index),
	WQ(wq_ring_qmem.daddr), WQ(wq_dbr_qmem.daddr), QP(transport_type), QP(qp_access_mask),
	QP(log_sq_depth), QP(log_rq_depth), QP(sq_cqn), QP(rq_cqn), QP(rq_type), QP(user_index),
	QP(qp_wq_buff_qmem.daddr), QP(qp_wq_dbr_qmem.daddr),
	QP(qp_sq_buff_qmem.daddr), QP(next_state), QP(remote_qp_num), F(msg_stream, data_bsize),
	F(msg_stream, sync_mode), F(msg_stream, level),
};

static struct { char name[24]; uint64_t value; } names[256];
static char line[512];

static void fail(const char *why, const char *word)
{
	printf("%s: %s\n", why, word);
	exit(1);
}

static uint64_t *place(const char *name, int is_new)
{
	for (size_t at = 0; at < 256; at++) {
		if (is_new && !*names[at].name)
			strncpy(names[at].name, name, 23);
		if (!strcmp(names[at].name, name))
			return &names[at].value;
	}
	fail("an unknown name", name);
	return NULL;
}

static uint64_t value(char *word)
{
	uint64_t sum = 0;
	char *rest, *part;

	if (*word == '"')
		return (uint64_t)strndup(word + 1, strlen(word) - 2);
	if (*word == '&')
		return (uint64_t)place(word + 1, 1);
	if (*word == '*')
		return *(uint64_t *)value(word + 1);
	for (part = strtok_r(word, "+", &rest); part; part = strtok_r(NULL, "+", &rest))
		sum += *part >= '0' && *part <= '9' ? strtoull(part, NULL, 0) : *place(part, 0);
	return sum;
}

static uint64_t structure(const char *name, char **words)
{
	uint8_t *made = calloc(1, 512);
	char field[64];

	for (; *words; words++) {
		char *sign = strchr(*words, '=');
		uint64_t number;
		size_t at = 0;

		if (!sign)
			fail("no call of this name", name);
		snprintf(field, sizeof(field), "%s.%.*s", name, (int)(sign - *words), *words);
		for (; at < sizeof(fields) / sizeof(*fields) && strcmp(fields[at].name, field);)
			at++;
		if (at == sizeof(fields) / sizeof(*fields))
			fail("no field", field);
		number = value(sign + 1);
		memcpy(made + fields[at].at, &number, fields[at].bytes);
	}
	return (uint64_t)made;
}

/* Bytes in memory, as VALUE:COUNT in the order of the wire. */
static uint64_t poke(char **words)
{
	uint8_t *to = (uint8_t *)value(*words);

	while (*++words) {
		char *sign = strchr(*words, ':');
		int count = sign ? atoi(sign + 1) : 4;
		uint64_t number;

		if (sign)
			*sign = 0;
		number = value(*words);
		while (count--)
			*to++ = (uint8_t)(count < 8 ? number >> 8 * count : 0);
	}
	return 0;
}

static void peek(const uint8_t *from, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at++)
		printf("%s%02x", at % 4 || !at ? "" : " ", from[at]);
	puts("");
}

/* Waits for a completion where none was, and shows all of it that the NIC writes. */
static void completion(const uint8_t *entry)
{
	for (int wait = 0; __atomic_load_n(&entry[63], __ATOMIC_ACQUIRE) == 0xff && wait < 5000; wait++)
		usleep(1000);
	if (entry[63] == 0xff)
		fail("never", line);
	printf("%s", line);
	peek(entry + 0x20, 32);
}

typedef uint64_t call_t(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static uint64_t library(const char *name, const uint64_t *v)
{
	call_t *call = (call_t *)dlsym(RTLD_DEFAULT, name);

	if (!call)
		fail("no call of this name", name);
	return call(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12],
		    v[13]);
}

/* A call of the device part: process, function, arguments. */
static uint64_t remote(char **words)
{
	uint64_t v[16] = { value(words[0]), 0, (uint64_t)place("result", 1) };
	int status;

	for (int at = 2; words[at]; at++)
		v[at + 1] = value(words[at]);
	flexio_func_register(calls, words[1], (flexio_func_t **)&v[1]);
	*place("result", 0) = 0;
	status = (int)library("flexio_process_call", v);
	if (status)
		printf("status %d\n", status);
	return *place("result", 0);
}

static uint64_t perform(char **words, int *is_shown)
{
	uint64_t v[16] = { 0 };
	const char *name = *words++;

	if (!strncmp(name, "flexio_", 7) && strstr(name, "_attr"))
		return structure(name, words);
	if (!strcmp(name, "call"))
		return remote(words);
	*is_shown &= strcmp(name, "poke") && strcmp(name, "peek") && strcmp(name, "completion") &&
		     strcmp(name, "until") && strcmp(name, "usleep");
	if (!strcmp(name, "poke"))
		return poke(words);
	if (!strcmp(name, "until")) {
		/* Again until it answers what is wanted. */
		uint64_t wanted = value(words[0]);
		for (int wait = 0; wait < 5000; wait++, usleep(1000)) {
			char *copy[16] = { 0 };
			for (int at = 1; words[at]; at++)
				copy[at - 1] = strdup(words[at]);
			if (perform(copy, is_shown) == wanted)
				return printf("%s", line);
		}
		fail("never", line);
	}
	for (int at = 0; words[at]; at++)
		v[at] = value(words[at]);
	if (!strcmp(name, "peek"))
		return peek((uint8_t *)v[0], v[1]), 0;
	if (!strcmp(name, "completion"))
		return completion((uint8_t *)v[0]), 0;
	if (!strcmp(name, "usleep"))
		return usleep(v[0]), printf("%s", line);
	if (!strcmp(name, "show"))
		return v[0];
	return library(name, v);
}

int main(void)
{
	char copy[512], *rest, *words[32];

	setvbuf(stdout, NULL, _IONBF, 0);
	dup2(1, 2);
	/* Versions differ in their arguments. */
	(void)sizeof(flexio_uar_create(NULL, NULL, NULL) + flexio_uar_create(NULL, NULL));
	*place("app", 1) = (uint64_t)calls;
	*place("stdout", 1) = (uint64_t)stdout;
	while (fgets(line, sizeof(line), stdin)) {
		int count = 0, first, is_shown = 1;
		uint64_t found;

		/* What a call waits for is said before its line. */
		if (strncmp(line, "> until", 7) && strncmp(line, "> completion", 12) &&
		    strncmp(line, "> usleep", 8))
			printf("%s", line);
		if (*line != '>')
			continue;
		strcpy(copy, line);
		for (char *word = strtok_r(copy, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest))
			words[count++] = word;
		words[count] = NULL;
		first = count > 2 && !strcmp(words[2], "=") ? 3 : 1;
		found = perform(words + first, &is_shown);
		if (first == 3)
			*place(words[1], 1) = found;
		else if (is_shown)
			printf(found > 9999 ? "%#lx\n" : "%lu\n", found);
	}
	return 0;
}

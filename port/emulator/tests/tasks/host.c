/* Tasks of RDMA on the CPU: within one program, and between two. */
#include <doca_buf_inventory.h>
#include <doca_dev.h>
#include <doca_rdma.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../support/doca.h"

#define BYTES 256
#define TASKS 4

struct end {
	char memory[BYTES] __attribute__((aligned(64)));
	struct doca_mmap *map;
	struct doca_rdma *rdma;
	struct doca_rdma_connection *connection;
	const void *details, *export;
	size_t details_bytes, export_bytes;
	/* The other end's memory. */
	struct doca_mmap *other;
	char *there;
};

static struct doca_dev *device;
static struct doca_pe *engine;
static struct doca_buf_inventory *inventory;
static int ended, failed;

static void count_done(struct doca_task *task, union doca_data user, union doca_data of_ctx)
{
	(void)task;
	ended += (int)user.u64;
	if (of_ctx.u64 != 77)
		exit(3);
}

static void count_failed(struct doca_task *task, union doca_data user, union doca_data of_ctx)
{
	count_done(task, user, of_ctx);
	failed++;
	if (doca_task_get_status(task) != DOCA_ERROR_IO_FAILED)
		exit(4);
}

static void changed(const union doca_data user, struct doca_ctx *ctx, enum doca_ctx_states before,
		    enum doca_ctx_states now)
{
	(void)user;
	(void)ctx;
	fprintf(stderr, "state %d to %d\n", before, now);
}

#define CONFIGURE(kind)                                                                        \
	CHECK(doca_rdma_task_##kind##_set_conf(                                                \
		end->rdma, (doca_rdma_task_##kind##_completion_cb_t)count_done,                \
		(doca_rdma_task_##kind##_completion_cb_t)count_failed, TASKS))

static void open_end(struct end *end)
{
	struct doca_ctx *ctx;

	CHECK(doca_rdma_create(device, &end->rdma));
	ctx = doca_rdma_as_ctx(end->rdma);
	CHECK(doca_rdma_set_permissions(end->rdma, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
							   DOCA_ACCESS_FLAG_RDMA_READ |
							   DOCA_ACCESS_FLAG_RDMA_WRITE |
							   DOCA_ACCESS_FLAG_RDMA_ATOMIC));
	CHECK(doca_rdma_set_transport_type(end->rdma, DOCA_RDMA_TRANSPORT_TYPE_RC));
	CHECK(doca_rdma_set_send_queue_size(end->rdma, 2));
	CHECK(doca_rdma_set_recv_queue_size(end->rdma, 1));
	CONFIGURE(receive);
	CONFIGURE(send);
	CONFIGURE(send_imm);
	CONFIGURE(read);
	CONFIGURE(write);
	CONFIGURE(write_imm);
	CONFIGURE(atomic_cmp_swp);
	CONFIGURE(atomic_fetch_add);
	CHECK(doca_ctx_set_user_data(ctx, (union doca_data){ .u64 = 77 }));
	CHECK(doca_ctx_set_state_changed_cb(ctx, changed));
	CHECK(doca_pe_connect_ctx(engine, ctx));
	CHECK(doca_ctx_start(ctx));
	CHECK(doca_rdma_export(end->rdma, &end->details, &end->details_bytes, &end->connection));
	CHECK(doca_mmap_create(&end->map));
	CHECK(doca_mmap_set_permissions(end->map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
							  DOCA_ACCESS_FLAG_RDMA_READ |
							  DOCA_ACCESS_FLAG_RDMA_WRITE |
							  DOCA_ACCESS_FLAG_RDMA_ATOMIC));
	CHECK(doca_mmap_set_memrange(end->map, end->memory, BYTES));
	CHECK(doca_mmap_add_dev(end->map, device));
	CHECK(doca_mmap_start(end->map));
	CHECK(doca_mmap_export_rdma(end->map, device, &end->export, &end->export_bytes));
}

static void meet(struct end *end, const void *details, size_t details_bytes, const void *export,
		 size_t export_bytes)
{
	void *there;
	size_t bytes;

	CHECK(doca_rdma_connect(end->rdma, details, details_bytes, end->connection));
	CHECK(doca_mmap_create_from_export(NULL, export, export_bytes, device, &end->other));
	CHECK(doca_mmap_get_memrange(end->other, &there, &bytes));
	end->there = there;
}

static struct doca_buf *data(struct doca_mmap *map, void *at, size_t bytes)
{
	struct doca_buf *buf;

	CHECK(doca_buf_inventory_buf_get_by_data(inventory, map, at, bytes, &buf));
	return buf;
}

static struct doca_buf *room(struct doca_mmap *map, void *at, size_t bytes)
{
	struct doca_buf *buf;

	CHECK(doca_buf_inventory_buf_get_by_addr(inventory, map, at, bytes, &buf));
	return buf;
}

static size_t length(struct doca_buf *buf)
{
	size_t bytes;

	CHECK(doca_buf_get_data_len(buf, &bytes));
	return bytes;
}

/* Waits for tasks whose counts have this sum. */
static void wait_for(int sum)
{
	while (ended < sum)
		doca_pe_progress(engine);
	ended = 0;
}

#define ONE ((union doca_data){ .u64 = 1 })
#define TASK(kind, name, ...)                                                                  \
	struct doca_rdma_task_##kind *name;                                                    \
	CHECK(doca_rdma_task_##kind##_allocate_init(__VA_ARGS__, ONE, &name))
#define SUBMIT(kind, name) doca_task_submit(doca_rdma_task_##kind##_as_task(name))
#define FREE(kind, name) doca_task_free(doca_rdma_task_##kind##_as_task(name))

static void heard(struct doca_rdma_task_receive *task, struct end *at, struct doca_buf *buf)
{
	printf("heard opcode %d, %u bytes, immediate %x, %zu of data, own connection %d\n",
	       doca_rdma_task_receive_get_result_opcode(task),
	       doca_rdma_task_receive_get_result_len(task),
	       doca_rdma_task_receive_get_result_immediate_data(task), length(buf),
	       doca_rdma_task_receive_get_result_rdma_connection(task) == at->connection);
}

/* Each kind of task, from `left` to `right`. */
static void each_kind(struct end *left, struct end *right)
{
	struct doca_buf *to = room(right->map, right->memory, 16);
	struct doca_buf *from = data(left->map, left->memory, 5);
	struct doca_buf *there = room(left->other, left->there + 64, 5);
	struct doca_buf *there_data = data(left->other, left->there + 64, 5);
	struct doca_buf *back = room(left->map, left->memory + 128, 8);
	struct doca_buf *word = room(left->other, left->there + 128, 8);
	TASK(receive, receive, right->rdma, to);
	TASK(send, send, left->rdma, left->connection, from);
	TASK(send_imm, send_imm, left->rdma, left->connection, from, 0x11223344);
	TASK(write, write, left->rdma, left->connection, from, there);
	TASK(write_imm, write_imm, left->rdma, left->connection, from, there, 1);
	TASK(read, read, left->rdma, left->connection, there_data, back);
	TASK(atomic_fetch_add, add, left->rdma, left->connection, word, back, 5);
	TASK(atomic_cmp_swp, swap, left->rdma, left->connection, word, back, 47, 9);

	memcpy(left->memory, "hello", 5);
	CHECK(SUBMIT(receive, receive));
	SAY(doca_task_get_status(doca_rdma_task_receive_as_task(receive)));
	SAY(SUBMIT(receive, receive));
	CHECK(SUBMIT(send, send));
	wait_for(2);
	SAY(doca_task_get_status(doca_rdma_task_receive_as_task(receive)));
	heard(receive, right, to);
	/* The second message lands behind the first. */
	CHECK(SUBMIT(receive, receive));
	CHECK(SUBMIT(send_imm, send_imm));
	wait_for(2);
	heard(receive, right, to);
	printf("%.16s\n", right->memory);
	CHECK(SUBMIT(write, write));
	wait_for(1);
	printf("written %.5s, %zu of data\n", right->memory + 64, length(there));
	doca_rdma_task_write_imm_set_immediate_data(write_imm, 0xabcd);
	CHECK(SUBMIT(receive, receive));
	CHECK(SUBMIT(write_imm, write_imm));
	wait_for(2);
	heard(receive, right, to);
	CHECK(SUBMIT(read, read));
	wait_for(1);
	printf("read %.5s, %zu of data\n", left->memory + 128, length(back));
	*(uint64_t *)(right->memory + 128) = 42;
	CHECK(doca_buf_set_data(back, left->memory + 128, 0));
	CHECK(SUBMIT(atomic_fetch_add, add));
	wait_for(1);
	printf("was %lu, is %lu\n", *(uint64_t *)(left->memory + 128), *(uint64_t *)(right->memory + 128));
	CHECK(SUBMIT(atomic_cmp_swp, swap));
	wait_for(1);
	printf("was %lu, is %lu\n", *(uint64_t *)(left->memory + 128), *(uint64_t *)(right->memory + 128));
	printf("failed %d\n", failed);
	FREE(receive, receive);
	FREE(send, send);
	FREE(send_imm, send_imm);
	FREE(write, write);
	FREE(write_imm, write_imm);
	FREE(read, read);
	FREE(atomic_fetch_add, add);
	FREE(atomic_cmp_swp, swap);
	for (struct doca_buf **buf = (struct doca_buf *[]){ to, from, there, there_data, back, word, NULL };
	     *buf; buf++)
		CHECK(doca_buf_dec_refcount(*buf, NULL));
}

/* What is refused, and what ends with an error. */
static void bounds(struct end *left, struct end *right)
{
	struct doca_rdma_task_write *writes[TASKS + 1];
	struct doca_rdma_task_receive *receives[TASKS];
	struct doca_buf *from = data(left->map, left->memory, 9), *buf;
	void *before_it = (void *)((uintptr_t)left->memory - 1);
	uint16_t before;
	uint32_t is_free;

	SAY(doca_buf_inventory_buf_get_by_addr(inventory, left->map, left->memory + 1, BYTES, &buf));
	SAY(doca_buf_inventory_buf_get_by_addr(inventory, left->map, before_it, 1, &buf));
	SAY(doca_buf_set_data_len(from, 10));
	CHECK(doca_buf_set_data_len(from, 9));
	/* A message of 9 bytes for a place of 8, 9 and 10. */
	for (size_t bytes = 8; bytes <= 10; bytes++) {
		struct doca_buf *there = room(left->other, left->there, bytes);
		TASK(write, write, left->rdma, left->connection, from, there);

		SAY(SUBMIT(write, write));
		wait_for(bytes > 8);
		FREE(write, write);
		CHECK(doca_buf_dec_refcount(there, NULL));
	}
	/* One more task than the context has. */
	struct doca_buf *there = room(left->other, left->there, 9);

	for (int at = 0; at <= TASKS; at++)
		SAY(doca_rdma_task_write_allocate_init(left->rdma, left->connection, from, there, ONE,
						       &writes[at]));
	/* More tasks than the ring has units: all end, in order. */
	for (int at = 0; at < TASKS; at++)
		CHECK(SUBMIT(write, writes[at]));
	wait_for(TASKS);
	printf("failed %d\n", failed);
	/* A place beyond the other's memory breaks the connection: the next task ends, too. */
	struct doca_buf *wrong = room(right->map, right->memory, 9);

	doca_rdma_task_write_set_src_buf(writes[0], wrong);
	CHECK(doca_buf_set_data_len(wrong, 9));
	CHECK(doca_mmap_stop(right->map));
	SAY(SUBMIT(write, writes[0]));
	CHECK(SUBMIT(write, writes[1]));
	CHECK(SUBMIT(write, writes[2]));
	wait_for(2);
	printf("failed %d\n", failed);
	/* Receives that nothing matches end when the context stops. */
	for (int at = 0; at < TASKS; at++) {
		CHECK(doca_rdma_task_receive_allocate_init(right->rdma, NULL, ONE, &receives[at]));
		CHECK(SUBMIT(receive, receives[at]));
	}
	FREE(receive, receives[0]);
	SAY(doca_ctx_stop(doca_rdma_as_ctx(right->rdma)));
	SAY(doca_rdma_destroy(right->rdma));
	wait_for(TASKS);
	printf("failed %d\n", failed);
	CHECK(doca_rdma_destroy(right->rdma));
	SAY(SUBMIT(receive, receives[0]));
	CHECK(doca_buf_inc_refcount(from, &before));
	printf("references %u\n", before);
	CHECK(doca_buf_dec_refcount(from, &before));
	printf("references %u\n", before);
	SAY(doca_buf_inventory_destroy(inventory));
	SAY(doca_buf_inventory_create(1ull << 32, &inventory));
	SAY(doca_buf_inventory_buf_get_by_addr(inventory, left->map, left->memory, 1, NULL));
	CHECK(doca_buf_inventory_get_num_free_elements(inventory, &is_free));
	printf("%u free\n", is_free);
	for (; is_free; is_free--)
		room(left->map, left->memory, 1);
	SAY(doca_buf_inventory_buf_get_by_addr(inventory, left->map, left->memory, 1, &buf));
	SAY(doca_buf_chain_list(from, there));
}

/* Where the other program finds its end of a socket. */
#define PEER 9

static void tell(int peer, const void *data, size_t bytes)
{
	if (write(peer, data, bytes) != (ssize_t)bytes)
		exit(1);
}

static void hear(int peer, void *data, size_t bytes)
{
	if (recv(peer, data, bytes, MSG_WAITALL) != (ssize_t)bytes)
		exit(1);
}

static void exchange(int peer, struct end *end)
{
	char details[64], export[64];

	tell(peer, end->details, end->details_bytes);
	tell(peer, end->export, end->export_bytes);
	hear(peer, details, end->details_bytes);
	hear(peer, export, end->export_bytes);
	meet(end, details, end->details_bytes, export, end->export_bytes);
}

/* Both programs: the first sends, and the second hears. */
static void between(int peer, int sends, int count)
{
	static struct end end;
	char byte;

	open_end(&end);
	exchange(peer, &end);
	struct doca_buf *buf = sends ? data(end.map, end.memory, BYTES) : room(end.map, end.memory, BYTES);

	memset(end.memory, 0, BYTES);
	for (int at = 0; at < count; at++) {
		if (sends) {
			TASK(send_imm, task, end.rdma, end.connection, buf, at);
			memset(end.memory, at, BYTES);
			CHECK(SUBMIT(send_imm, task));
			wait_for(1);
			FREE(send_imm, task);
		} else {
			TASK(receive, task, end.rdma, buf);
			CHECK(doca_buf_reset_data_len(buf));
			CHECK(SUBMIT(receive, task));
			wait_for(1);
			if (end.memory[BYTES - 1] != (char)at ||
			    doca_rdma_task_receive_get_result_immediate_data(task) != (uint32_t)at)
				printf("message %d is wrong\n", at);
			FREE(receive, task);
		}
	}
	if (sends) {
		hear(peer, &byte, 1);
		printf("%d messages, failed %d\n", count, failed);
	} else {
		tell(peer, "", 1);
	}
	CHECK(doca_ctx_stop(doca_rdma_as_ctx(end.rdma)));
}

/* Memory of the large messages, and connections that write them. */
#define LARGE (8ul << 20)
#define MANY 24

/* Writes to a program that is stopped: more than may wait for it. Then it goes on, or ends. */
static void stopped(int peer, int writes, int ends)
{
	static struct end end;
	struct doca_rdma_connection *connections[MANY];
	struct doca_rdma_task_write *tasks[MANY];
	char *memory = calloc(1, LARGE), details[MANY][64], export[64], word[64];
	const void *own[MANY], *exported;
	size_t bytes = 0, export_bytes;
	struct doca_mmap *map, *other;
	pid_t pid = getpid();
	long peak = 0;

	CHECK(doca_rdma_create(device, &end.rdma));
	CHECK(doca_rdma_set_permissions(end.rdma, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
							  DOCA_ACCESS_FLAG_RDMA_WRITE));
	CHECK(doca_rdma_set_max_num_connections(end.rdma, MANY));
	CHECK(doca_rdma_task_write_set_conf(
		end.rdma, (doca_rdma_task_write_completion_cb_t)count_done,
		(doca_rdma_task_write_completion_cb_t)count_failed, MANY));
	CHECK(doca_ctx_set_user_data(doca_rdma_as_ctx(end.rdma), (union doca_data){ .u64 = 77 }));
	CHECK(doca_pe_connect_ctx(engine, doca_rdma_as_ctx(end.rdma)));
	CHECK(doca_ctx_start(doca_rdma_as_ctx(end.rdma)));
	CHECK(doca_mmap_create(&map));
	CHECK(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
						     DOCA_ACCESS_FLAG_RDMA_WRITE));
	CHECK(doca_mmap_set_memrange(map, memory, LARGE));
	CHECK(doca_mmap_add_dev(map, device));
	CHECK(doca_mmap_start(map));
	CHECK(doca_mmap_export_rdma(map, device, &exported, &export_bytes));
	for (int at = 0; at < MANY; at++)
		CHECK(doca_rdma_export(end.rdma, &own[at], &bytes, &connections[at]));
	for (int at = 0; at < MANY; at++)
		tell(peer, own[at], bytes);
	tell(peer, exported, export_bytes);
	tell(peer, &pid, sizeof(pid));
	for (int at = 0; at < MANY; at++)
		hear(peer, details[at], bytes);
	hear(peer, export, export_bytes);
	hear(peer, &pid, sizeof(pid));
	for (int at = 0; at < MANY; at++)
		CHECK(doca_rdma_connect(end.rdma, details[at], bytes, connections[at]));
	CHECK(doca_mmap_create_from_export(NULL, export, export_bytes, device, &other));
	tell(peer, "", 1);
	hear(peer, word, 1);
	if (!writes) {
		/* Until the other program has written all, or ends this one. */
		hear(peer, word, 1);
		for (size_t at = 0; at < LARGE; at++)
			if (memory[at] != 'x')
				exit(5);
		return;
	}
	size_t length_there;
	void *there;

	CHECK(doca_mmap_get_memrange(other, &there, &length_there));
	memset(memory, 'x', LARGE);
	struct doca_buf *from = data(map, memory, LARGE), *to = room(other, there, LARGE);

	kill(pid, SIGSTOP);
	for (int at = 0; at < MANY; at++) {
		CHECK(doca_rdma_task_write_allocate_init(end.rdma, connections[at], from, to, ONE,
							 &tasks[at]));
		CHECK(SUBMIT(write, tasks[at]));
	}
	for (int at = 0; at < 2000; at++) {
		doca_pe_progress(engine);
		usleep(100);
	}
	FILE *status = fopen("/proc/self/status", "r");

	while (fgets(word, sizeof(word), status))
		if (sscanf(word, "VmHWM: %ld", &peak) == 1)
			break;
	printf("%d of %d ended, below 120 MiB: %d\n", ended, MANY, peak < 120 << 10);
	fprintf(stderr, "peak %ld KiB\n", peak);
	kill(pid, ends ? SIGKILL : SIGCONT);
	wait_for(MANY);
	printf("failed %d\n", failed);
	if (!ends)
		tell(peer, "", 1);
	wait(NULL);
}

static void start_peer(const char *scene, const char *number, int *peer)
{
	int peers[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, peers))
		exit(1);
	fflush(stdout);
	if (!fork()) {
		dup2(peers[1], PEER);
		close(peers[0]);
		close(peers[1]);
		execl("/proc/self/exe", "tasks", scene, number, NULL);
		exit(1);
	}
	close(peers[1]);
	*peer = peers[0];
}

int main(int count, char **words)
{
	const char *scene = count > 1 ? words[1] : "", *number = count > 2 ? words[2] : "0";
	struct doca_devinfo **list;
	uint32_t devices;

	CHECK(doca_devinfo_create_list(&list, &devices));
	CHECK(doca_dev_open(list[0], &device));
	CHECK(doca_devinfo_destroy_list(list));
	CHECK(doca_pe_create(&engine));
	CHECK(doca_buf_inventory_create(12, &inventory));
	CHECK(doca_buf_inventory_start(inventory));
	if (!strcmp(scene, "between")) {
		int peer;

		start_peer("hears", number, &peer);
		between(peer, 1, atoi(number));
		wait(NULL);
		return 0;
	}
	if (!strcmp(scene, "stopped") || !strcmp(scene, "killed")) {
		int peer;

		start_peer("stops", number, &peer);
		stopped(peer, 1, !strcmp(scene, "killed"));
		return 0;
	}
	if (!strcmp(scene, "stops")) {
		stopped(PEER, 0, 0);
		return 0;
	}
	if (!strcmp(scene, "hears")) {
		between(PEER, 0, atoi(number));
		return 0;
	}
	static struct end ends[2];

	open_end(&ends[0]);
	open_end(&ends[1]);
	if (!strcmp(scene, "bounds")) {
		struct doca_buf *from = data(ends[0].map, ends[0].memory, 9);
		TASK(send, send, ends[0].rdma, ends[0].connection, from);

		SAY(SUBMIT(send, send));
		FREE(send, send);
		CHECK(doca_buf_dec_refcount(from, NULL));
	}
	for (int at = 0; at < 2; at++)
		meet(&ends[at], ends[!at].details, ends[!at].details_bytes, ends[!at].export,
		     ends[!at].export_bytes);
	if (!strcmp(scene, "bounds")) {
		bounds(&ends[0], &ends[1]);
		return 0;
	}
	each_kind(&ends[0], &ends[1]);
	CHECK(doca_buf_inventory_stop(inventory));
	CHECK(doca_buf_inventory_destroy(inventory));
	SAY(doca_pe_destroy(engine));
	for (int at = 0; at < 2; at++) {
		CHECK(doca_rdma_connection_disconnect(ends[at].connection));
		CHECK(doca_ctx_stop(doca_rdma_as_ctx(ends[at].rdma)));
		CHECK(doca_rdma_destroy(ends[at].rdma));
		CHECK(doca_mmap_destroy(ends[at].map));
		CHECK(doca_mmap_destroy(ends[at].other));
	}
	CHECK(doca_pe_destroy(engine));
	CHECK(doca_dev_close(device));
	return 0;
}

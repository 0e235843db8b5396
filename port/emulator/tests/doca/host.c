/* Host part: doca SCENE [NUMBER]. Each scene says what came of it, to be compared. */
#define _GNU_SOURCE
#include <doca_argp.h>
#include <doca_dpa.h>
#include <doca_flow.h>
#include <doca_log.h>
#include <doca_rdma.h>
#include <doca_verbs.h>
#include <doca_verbs_bridge.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../support/doca.h"
#include "common.h"

DOCA_LOG_REGISTER(TEST);

extern struct doca_dpa_app *doca;
doca_dpa_func_t add_ranks, nothing, waits_for_host, waits_as_well, ranked, notify_all, on_message,
	sleeps, post_receives, send_to, write_and_read, ping_pong, begin_ping_pong, external,
	unaligned, crashes, of_the_sf, no_connection, reads_first, reschedules, old_event, frames,
	copies, completes, awaits, visits, hears, by_verbs;

#define ALL ((uint64_t)-1)

/* An RDMA object, what it completes at, and the thread that is woken. */
struct end {
	struct doca_dpa_thread *thread;
	struct doca_dpa_completion *completion;
	struct doca_rdma *rdma;
	struct doca_rdma_connection *connections[3];
	const void *details[3];
	size_t bytes[3];
};

static struct doca_dev *device;
static struct doca_dpa *dpa;

static struct doca_dev *open_device(const char *wanted)
{
	struct doca_devinfo **list;
	struct doca_dev *found = NULL;
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	uint32_t count;

	CHECK(doca_devinfo_create_list(&list, &count));
	for (uint32_t at = 0; at < count; at++) {
		CHECK(doca_devinfo_get_ibdev_name(list[at], name, sizeof(name)));
		if (!strcmp(name, wanted) && doca_dpa_cap_is_supported(list[at]) == DOCA_SUCCESS)
			CHECK(doca_dev_open(list[at], &found));
	}
	CHECK(doca_devinfo_destroy_list(list));
	return found;
}

static uint64_t block(size_t bytes)
{
	uint64_t address;

	CHECK(doca_dpa_mem_alloc(dpa, bytes, &address));
	CHECK(doca_dpa_memset(dpa, address, 0, bytes));
	return address;
}

static uint64_t to_device(const void *from, size_t bytes)
{
	uint64_t address = block(bytes);

	CHECK(doca_dpa_h2d_memcpy(dpa, address, from, bytes));
	return address;
}

static struct doca_mmap *map(void *host, uint64_t heap, size_t bytes, struct doca_dev *of, uint32_t *key)
{
	struct doca_mmap *made;

	CHECK(doca_mmap_create(&made));
	CHECK(doca_mmap_set_permissions(made, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
						      DOCA_ACCESS_FLAG_RDMA_READ |
						      DOCA_ACCESS_FLAG_RDMA_WRITE |
						      DOCA_ACCESS_FLAG_RDMA_ATOMIC));
	if (host) {
		CHECK(doca_mmap_set_memrange(made, host, bytes));
		CHECK(doca_mmap_add_dev(made, of));
	} else {
		CHECK(doca_mmap_set_dpa_memrange(made, dpa, heap, bytes));
	}
	CHECK(doca_mmap_start(made));
	CHECK(doca_mmap_dev_get_dpa_handle(made, of, key));
	return made;
}

static struct doca_sync_event *event(int to_dpa, uint64_t *handle)
{
	struct doca_sync_event *made;

	CHECK(doca_sync_event_create(&made));
	if (to_dpa) {
		CHECK(doca_sync_event_add_publisher_location_cpu(made, device));
		CHECK(doca_sync_event_add_subscriber_location_dpa(made, dpa));
	} else {
		CHECK(doca_sync_event_add_publisher_location_dpa(made, dpa));
		CHECK(doca_sync_event_add_subscriber_location_cpu(made, device));
	}
	CHECK(doca_sync_event_start(made));
	CHECK(doca_sync_event_get_dpa_handle(made, dpa, handle));
	return made;
}

static struct doca_dpa_thread *thread(doca_dpa_func_t *function, uint64_t argument, uint64_t storage)
{
	struct doca_dpa_eu_affinity *affinity;
	struct doca_dpa_thread *made;

	CHECK(doca_dpa_eu_affinity_create(dpa, &affinity));
	CHECK(doca_dpa_eu_affinity_set(affinity, 7));
	CHECK(doca_dpa_thread_create(dpa, &made));
	CHECK(doca_dpa_thread_set_func_arg(made, function, argument));
	CHECK(doca_dpa_thread_set_affinity(made, affinity));
	CHECK(doca_dpa_eu_affinity_destroy(affinity));
	if (storage)
		CHECK(doca_dpa_thread_set_local_storage(made, storage));
	CHECK(doca_dpa_thread_start(made));
	return made;
}

static void open_end(struct end *end, struct doca_dev *of, struct doca_dpa *on, uint32_t connections,
		     uint32_t depth)
{
	CHECK(doca_dpa_completion_create(on, 16, &end->completion));
	if (end->thread)
		CHECK(doca_dpa_completion_set_thread(end->completion, end->thread));
	CHECK(doca_dpa_completion_start(end->completion));
	CHECK(doca_rdma_create(of, &end->rdma));
	struct doca_ctx *ctx = doca_rdma_as_ctx(end->rdma);

	CHECK(doca_rdma_set_permissions(end->rdma, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
							   DOCA_ACCESS_FLAG_RDMA_READ |
							   DOCA_ACCESS_FLAG_RDMA_WRITE |
							   DOCA_ACCESS_FLAG_RDMA_ATOMIC));
	CHECK(doca_rdma_set_grh_enabled(end->rdma, true));
	CHECK(doca_rdma_set_recv_queue_size(end->rdma, depth));
	CHECK(doca_rdma_set_max_num_connections(end->rdma, connections));
	CHECK(doca_ctx_set_datapath_on_dpa(ctx, on));
	CHECK(doca_rdma_dpa_completion_attach(end->rdma, end->completion));
	CHECK(doca_ctx_start(ctx));
	for (uint32_t at = 0; at < connections; at++)
		CHECK(doca_rdma_export(end->rdma, &end->details[at], &end->bytes[at],
				       &end->connections[at]));
}

static void connect_ends(struct end *left, struct end *right, uint32_t connections)
{
	for (uint32_t at = 0; at < connections; at++) {
		CHECK(doca_rdma_connect(left->rdma, right->details[at], right->bytes[at],
					left->connections[at]));
		CHECK(doca_rdma_connect(right->rdma, left->details[at], left->bytes[at],
					right->connections[at]));
	}
}

static void close_end(struct end *end)
{
	CHECK(doca_ctx_stop(doca_rdma_as_ctx(end->rdma)));
	CHECK(doca_rdma_destroy(end->rdma));
	CHECK(doca_dpa_completion_destroy(end->completion));
	if (end->thread)
		CHECK(doca_dpa_thread_destroy(end->thread));
}

/* Processor time of this program, in nanoseconds. */
static double time_used(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e9 +
	       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e3;
}

static void kernels(int count)
{
	uint64_t wait_handle, done_handle, sums[16], total = 0, result, address = block(sizeof(sums));
	struct doca_sync_event *wait = event(1, &wait_handle), *done = event(0, &done_handle);
	struct three three = { 7, 8, 9.5 };

	CHECK(doca_dpa_kernel_launch_update_set(dpa, wait, 4, done, 10, 16, &add_ranks, address, 3, three));
	CHECK(doca_sync_event_update_set(wait, 4));
	usleep(20000);
	CHECK(doca_sync_event_get(done, &result));
	printf("before %lu\n", result);
	CHECK(doca_sync_event_update_set(wait, 5));
	CHECK(doca_sync_event_wait_gt(done, 9, ALL));
	CHECK(doca_dpa_kernel_launch_update_add(dpa, NULL, 0, done, 2, 5, &add_ranks, address, 1, three));
	CHECK(doca_sync_event_wait_neq(done, 10, ALL));
	CHECK(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 1, &nothing));
	CHECK(doca_sync_event_get(done, &result));
	CHECK(doca_dpa_d2h_memcpy(dpa, sums, address, sizeof(sums)));
	for (int at = 0; at < 16; at++)
		total += sums[at] * (at + 1);
	printf("done %lu, sums %lu %lu, total %lu\n", result, sums[0], sums[15], total);
	SAY(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 129, &nothing));
	SAY(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 0, &nothing));
	double begin = time_used();

	CHECK(doca_sync_event_update_set(done, 0));
	for (int at = 0; at < count; at++) {
		CHECK(doca_dpa_kernel_launch_update_add(dpa, NULL, 0, done, 1, 16, &nothing));
		CHECK(doca_sync_event_wait_gt(done, at, ALL));
	}
	if (count)
		fprintf(stderr, "a kernel of 16 threads: %.2f us", (time_used() - begin) / count / 1e3);
	begin = time_used();
	for (int at = 0; at < count; at++) {
		CHECK(doca_sync_event_update_set(wait, 0));
		CHECK(doca_sync_event_update_set(done, 0));
		/* Each begins when the one before is through. */
		for (uint64_t link = 1; link < 20; link++)
			CHECK(doca_dpa_kernel_launch_update_set(dpa, wait, link, wait, link + 2, 16, &nothing));
		CHECK(doca_dpa_kernel_launch_update_set(dpa, wait, 20, done, 1, 16, &nothing));
		CHECK(doca_sync_event_update_set(wait, 2));
		CHECK(doca_sync_event_wait_gt(done, 0, ALL));
	}
	if (count)
		fprintf(stderr, ", %.2f us in a chain of 20\n", (time_used() - begin) / count / 20 / 1e3);
	CHECK(doca_sync_event_destroy(wait));
	CHECK(doca_sync_event_destroy(done));
}

static void events(void)
{
	uint64_t handles[2], result;
	struct doca_sync_event *first = event(1, &handles[0]), *second = event(0, &handles[1]);

	CHECK(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 1, &waits_for_host, handles[0],
						handles[1], (uint64_t)4));
	CHECK(doca_sync_event_update_set(first, 4));
	usleep(20000);
	CHECK(doca_sync_event_get(second, &result));
	CHECK(doca_sync_event_update_add(first, 0x30002, &result));
	CHECK(doca_sync_event_wait_gt(second, 0, ALL));
	CHECK(doca_sync_event_get(second, &handles[0]));
	printf("was %lu, answer %lu\n", result, handles[0]);
	SAY(doca_sync_event_start(first));
	CHECK(doca_sync_event_stop(first));
	SAY(doca_sync_event_update_set(first, 1));
	CHECK(doca_sync_event_destroy(first));
	SAY(doca_sync_event_update_set(first, 1));
	CHECK(doca_sync_event_destroy(second));
}

static void groups(int is_last)
{
	struct doca_dpa_notification_completion *notifications[5];
	struct doca_dpa_thread *threads[5];
	struct doca_dpa_thread_group *group;
	uint64_t handles[5], found[5], storage = block(sizeof(found)), total;
	struct work work = { 0 };
	struct doca_sync_event *done = event(0, &work.event);
	uint64_t argument = to_device(&work, sizeof(work));

	CHECK(doca_dpa_thread_group_create(dpa, 5, &group));
	for (int at = 0; at < 5; at++) {
		threads[at] = thread(&ranked, argument, storage + 8 * at);
		CHECK(doca_dpa_notification_completion_create(dpa, threads[at], &notifications[at]));
		CHECK(doca_dpa_notification_completion_start(notifications[at]));
		CHECK(doca_dpa_notification_completion_get_dpa_handle(notifications[at], &handles[at]));
		CHECK(doca_dpa_thread_group_set_thread(group, threads[at], 4 - at));
	}
	SAY(doca_dpa_thread_group_set_thread(group, threads[0], 4));
	SAY(doca_dpa_thread_group_set_thread(group, threads[0], 5));
	CHECK(doca_dpa_thread_group_start(group));
	for (int at = 0; at < 5; at++)
		CHECK(doca_dpa_thread_run(threads[at]));
	for (int round = 0; round < 2; round++) {
		CHECK(doca_dpa_rpc(dpa, &notify_all, &total, to_device(handles, sizeof(handles)), 5ul));
		if (is_last)
			return;
		CHECK(doca_sync_event_wait_gt(done, 5 * round + 4, ALL));
	}
	CHECK(doca_dpa_d2h_memcpy(dpa, found, storage, sizeof(found)));
	printf("%lu notified: %lu %lu %lu %lu %lu\n", total, found[0], found[1], found[2], found[3], found[4]);
	SAY(doca_dpa_thread_destroy(threads[0]));
	for (int at = 0; at < 5; at++) {
		CHECK(doca_dpa_notification_completion_stop(notifications[at]));
		CHECK(doca_dpa_notification_completion_destroy(notifications[at]));
		CHECK(doca_dpa_thread_destroy(threads[at]));
	}
	CHECK(doca_dpa_thread_group_destroy(group));
	CHECK(doca_sync_event_destroy(done));
}

/* Calls and threads take one worker in turn: threads that have something to do have done it. */
static void settle(void)
{
	uint64_t result;

	for (int turn = 0; turn < 100; turn++)
		CHECK(doca_dpa_rpc(dpa, &notify_all, &result, 0ul, 0ul));
}

/* A handler with a shared receive queue of one buffer, and who sends to it. */
static void messages(enum mode mode, int count, int on_sf, int sets_device)
{
	static uint64_t host[16] __attribute__((aligned(64)));
	struct end receiver = { 0 }, sender = { 0 };
	struct doca_dev *of = on_sf ? open_device("mlx5_2") : device;
	struct doca_dpa *base = dpa, *on = dpa;
	struct work work = { .mode = mode, .host_memory = (uint64_t)host };
	uint64_t results[8], argument = block(sizeof(work)), result;
	struct doca_mmap *maps[3];
	struct doca_sync_event *done = event(0, &work.event);

	if (on_sf) {
		CHECK(doca_dpa_device_extend(dpa, of, &on));
		CHECK(doca_dpa_get_dpa_handle(on, &work.device));
	}
	receiver.thread = thread(&on_message, argument, 0);
	open_end(&receiver, of, on, 3, 1);
	open_end(&sender, of, on, 3, 1);
	connect_ends(&sender, &receiver, 3);
	CHECK(doca_rdma_get_dpa_handle(receiver.rdma, &work.rdma));
	CHECK(doca_rdma_get_dpa_handle(sender.rdma, &work.other_rdma));
	CHECK(doca_dpa_completion_get_dpa_handle(receiver.completion, &work.completion));
	CHECK(doca_dpa_completion_get_dpa_handle(sender.completion, &work.other_completion));
	work.buffer = block(64);
	work.other_buffer = block(64);
	work.results = block(sizeof(results));
	dpa = on;
	maps[0] = map(NULL, work.buffer, 64, of, &work.key);
	maps[1] = map(NULL, work.other_buffer, 64, of, &work.other_key);
	maps[2] = map(host, 0, sizeof(host), device, &work.host_key);
	dpa = base;
	CHECK(doca_dpa_h2d_memcpy(dpa, argument, &work, sizeof(work)));
	CHECK(doca_dpa_thread_run(receiver.thread));
	CHECK(doca_dpa_rpc(dpa, &post_receives, &result, argument, 1ul));
	for (int at = 0; at < count; at++) {
		CHECK(doca_dpa_rpc(dpa, &send_to, &result, argument, at % 3, (uint64_t)at + 1, sets_device));
		if (mode == COUNTS && sets_device)
			CHECK(doca_sync_event_wait_gt(done, at, ALL));
	}
	if (mode == COUNTS && sets_device) {
		CHECK(doca_dpa_d2h_memcpy(dpa, results, work.results, sizeof(results)));
		printf("%lu messages: values %lu, immediates %lu, connections %lu, types %lu, bytes %lu\n",
		       results[0], results[1], results[2], results[3], results[4], results[5]);
		CHECK(doca_dpa_thread_stop(receiver.thread) != DOCA_ERROR_IN_USE);
		CHECK(doca_dpa_rpc(dpa, &write_and_read, &result, argument));
		printf("read %lu\n", result);
		if (!on_sf) {
			host[0] = 33;
			CHECK(doca_dpa_rpc(dpa, &external, &result, argument));
			printf("external %lu, %lu\n", result, host[1]);
		}
	} else {
		settle();
		if (mode == NOT_REPOSTED)
			usleep(300000);
		CHECK(doca_dpa_d2h_memcpy(dpa, results, work.results, sizeof(results)));
	}
	SAY(doca_dpa_completion_destroy(receiver.completion));
	SAY(doca_rdma_destroy(receiver.rdma));
	close_end(&sender);
	close_end(&receiver);
	for (int at = 0; at < 3; at++)
		CHECK(doca_mmap_destroy(maps[at]));
	if (on_sf) {
		SAY(doca_dpa_destroy(dpa));
		CHECK(doca_dpa_destroy(on));
		CHECK(doca_dev_close(of));
	}
	CHECK(doca_sync_event_destroy(done));
}

static void tell(int peer, const void *from, size_t bytes)
{
	if (write(peer, from, bytes) != (ssize_t)bytes)
		exit(1);
}

static void hear(int peer, void *to, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		ssize_t now = read(peer, (char *)to + at, bytes - at);

		if (now <= 0)
			exit(1);
		at += (size_t)now;
	}
}

static void tell_data(int peer, const void *from, size_t bytes)
{
	tell(peer, &bytes, sizeof(bytes));
	tell(peer, from, bytes);
}

static size_t hear_data(int peer, char to[64])
{
	size_t bytes;

	hear(peer, &bytes, sizeof(bytes));
	if (bytes > 64)
		exit(1);
	hear(peer, to, bytes);
	return bytes;
}

/* Connects to the other program. Both are connected when this returns. */
static void meet(int peer, struct end *end)
{
	char details[64];

	for (int at = 0; at < 3; at++)
		tell_data(peer, end->details[at], end->bytes[at]);
	for (int at = 0; at < 3; at++) {
		size_t bytes = hear_data(peer, details);

		CHECK(doca_rdma_connect(end->rdma, details, bytes, end->connections[at]));
	}
	tell(peer, "", 1);
	hear(peer, details, 1);
}

/* The program that receives: its handler counts messages. */
static void receives(int peer)
{
	struct work work = { .mode = COUNTS };
	uint64_t results[8], argument = block(sizeof(work)), result;
	struct end end = { .thread = thread(&on_message, argument, 0) };
	struct doca_sync_event *done = event(0, &work.event);
	struct doca_mmap *memory;
	const void *export;
	size_t bytes;

	open_end(&end, device, dpa, 3, 1);
	CHECK(doca_rdma_get_dpa_handle(end.rdma, &work.rdma));
	CHECK(doca_dpa_completion_get_dpa_handle(end.completion, &work.completion));
	work.buffer = block(LARGE);
	work.results = block(sizeof(results));
	memory = map(NULL, work.buffer, LARGE, device, &work.key);
	CHECK(doca_dpa_h2d_memcpy(dpa, argument, &work, sizeof(work)));
	CHECK(doca_mmap_export_rdma(memory, device, &export, &bytes));
	tell_data(peer, export, bytes);
	meet(peer, &end);
	CHECK(doca_dpa_thread_run(end.thread));
	CHECK(doca_dpa_rpc(dpa, &post_receives, &result, argument, 1ul));
	for (uint64_t at = 0; at < MESSAGES; at++) {
		CHECK(doca_sync_event_wait_gt(done, at, ALL));
		tell(peer, "", 1);
	}
	CHECK(doca_dpa_d2h_memcpy(dpa, results, work.results, sizeof(results)));
	printf("%lu messages: values %lu, immediates %lu, connections %lu, types %lu, bytes %lu\n",
	       results[0], results[1], results[2], results[3], results[4], results[5]);
	/* The other program reads and writes here until it ends. */
	tell(peer, "", 1);
	hear(peer, results, 1);
}

/* The program that sends, if its peer stays. */
static void sends(int peer, int stays)
{
	struct work work = { .count = LARGE };
	uint64_t argument = block(sizeof(work)), result;
	struct end end = { 0 };
	struct doca_mmap *remote;
	char export[64];
	size_t bytes;
	void *there;

	open_end(&end, device, dpa, 3, 1);
	CHECK(doca_rdma_get_dpa_handle(end.rdma, &work.other_rdma));
	CHECK(doca_dpa_completion_get_dpa_handle(end.completion, &work.other_completion));
	work.other_buffer = block(2 * LARGE);
	map(NULL, work.other_buffer, 2 * LARGE, device, &work.other_key);
	bytes = hear_data(peer, export);
	SAY(doca_mmap_create_from_export(NULL, export, bytes - 1, device, &remote));
	CHECK(doca_mmap_create_from_export(NULL, export, bytes, device, &remote));
	CHECK(doca_mmap_dev_get_dpa_handle(remote, device, &work.key));
	CHECK(doca_mmap_get_memrange(remote, &there, &bytes));
	work.buffer = (uint64_t)there;
	CHECK(doca_dpa_h2d_memcpy(dpa, argument, &work, sizeof(work)));
	meet(peer, &end);
	if (!stays) {
		/* The end of its socket is that of the program. */
		while (read(peer, export, 1) > 0)
			;
		waitpid(-1, NULL, 0);
		CHECK(doca_dpa_rpc(dpa, &send_to, &result, argument, 0, 1ul, 0));
		CHECK(doca_dpa_rpc(dpa, &completes, &result, argument));
		printf("completion %lu\n", result);
		return;
	}
	for (uint64_t at = 0; at < MESSAGES; at++) {
		CHECK(doca_dpa_rpc(dpa, &send_to, &result, argument, at % 3, at + 1, 0));
		hear(peer, export, 1);
	}
	hear(peer, export, 1);
	CHECK(doca_dpa_rpc(dpa, &write_and_read, &result, argument));
	printf("read %lu of %zu bytes\n", result, bytes);
	CHECK(doca_dpa_rpc(dpa, &copies, &result, argument));
	printf("%lu bytes there and back\n", result);
	CHECK(doca_mmap_destroy(remote));
	fflush(stdout);
	tell(peer, "", 1);
}

/* The program that connects, and leaves at once. */
static void leaves(int peer)
{
	struct end end = { 0 };
	uint64_t memory = block(64);
	const void *export;
	size_t bytes;
	uint32_t key;

	open_end(&end, device, dpa, 3, 1);
	CHECK(doca_mmap_export_rdma(map(NULL, memory, 64, device, &key), device, &export, &bytes));
	tell_data(peer, export, bytes);
	meet(peer, &end);
}

/* Where the other program finds its end of a socket. */
#define PEER 9

/* Starts this program again for the scene of its peer, and sends. */
static void between(const char *scene, int stays)
{
	int peers[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, peers))
		exit(1);
	fflush(stdout);
	pid_t other = fork();

	if (!other) {
		dup2(peers[1], PEER);
		close(peers[0]);
		close(peers[1]);
		execl("/proc/self/exe", "doca", "--scene", scene, NULL);
		exit(1);
	}
	close(peers[1]);
	sends(peers[0], stays);
	waitpid(other, NULL, 0);
}

/* What a program tells another: how to connect, its memory, its event. */
struct told {
	char data[3][64];
	size_t bytes[3];
};

/* Memory that all programs have, where their descriptor of it is. */
struct meeting {
	uint32_t arrived[3];
	uint64_t first;
	struct told told[PROGRAMS][PROGRAMS];
};
#define MEETING 10

static void wait_for_all(struct meeting *meeting, int stage)
{
	__atomic_fetch_add(&meeting->arrived[stage], 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&meeting->arrived[stage], __ATOMIC_ACQUIRE) < PROGRAMS)
		usleep(100);
}

static void keep(struct told *told, int at, const void *from, size_t bytes)
{
	memcpy(told->data[at], from, bytes);
	told->bytes[at] = bytes;
}

/* One of the programs that meet. Its connections to all others share a receive queue. */
static void member(int rank)
{
	struct meeting *meeting =
		mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED, MEETING, 0);
	struct work work = { .other_buffer = block(8 * WORDS) };
	uint64_t words[WORDS], argument = block(sizeof(work)), result, first = 0;
	struct doca_sync_event_remote_net *there[PROGRAMS];
	struct doca_sync_event *signalled;
	struct doca_mmap *memory, *remote;
	struct end end = { 0 };
	const uint8_t *event_export;
	const void *export;
	size_t bytes, event_bytes;
	void *start;

	if (meeting == MAP_FAILED)
		exit(1);
	/* Nobody waits for ever for one that has failed. */
	alarm(300);
	open_end(&end, device, dpa, PROGRAMS - 1, PROGRAMS);
	CHECK(doca_rdma_get_dpa_handle(end.rdma, &work.other_rdma));
	CHECK(doca_dpa_completion_get_dpa_handle(end.completion, &work.other_completion));
	memory = map(NULL, work.other_buffer, 8 * WORDS, device, &work.other_key);
	CHECK(doca_mmap_export_rdma(memory, device, &export, &bytes));
	CHECK(doca_sync_event_create(&signalled));
	CHECK(doca_sync_event_add_publisher_location_remote_net(signalled));
	CHECK(doca_sync_event_add_subscriber_location_cpu(signalled, device));
	CHECK(doca_sync_event_start(signalled));
	CHECK(doca_sync_event_export_to_remote_net(signalled, &event_export, &event_bytes));
	CHECK(doca_dpa_h2d_memcpy(dpa, argument, &work, sizeof(work)));
	CHECK(doca_dpa_rpc(dpa, &awaits, &result, argument));
	for (int peer = 0, at = 0; peer < PROGRAMS; peer++) {
		struct told *told = &meeting->told[rank][peer];

		if (peer == rank)
			continue;
		keep(told, 0, end.details[at], end.bytes[at]);
		keep(told, 1, export, bytes);
		keep(told, 2, event_export, event_bytes);
		at++;
	}
	wait_for_all(meeting, 0);
	for (int peer = 0, at = 0; peer < PROGRAMS; peer++) {
		struct told *told = &meeting->told[peer][rank];

		if (peer != rank)
			CHECK(doca_rdma_connect(end.rdma, told->data[0], told->bytes[0],
						end.connections[at++]));
	}
	wait_for_all(meeting, 1);
	for (int peer = 0, at = 0; peer < PROGRAMS; peer++) {
		struct told *told = &meeting->told[peer][rank];

		if (peer == rank)
			continue;
		CHECK(doca_mmap_create_from_export(NULL, told->data[1], told->bytes[1], device, &remote));
		CHECK(doca_mmap_dev_get_dpa_handle(remote, device, &work.key));
		CHECK(doca_mmap_get_memrange(remote, &start, &bytes));
		work.buffer = (uint64_t)start;
		CHECK(doca_sync_event_remote_net_create_from_export(device, (uint8_t *)told->data[2],
								     told->bytes[2], &there[peer]));
		CHECK(doca_sync_event_remote_net_get_dpa_handle(there[peer], dpa, &work.second));
		CHECK(doca_dpa_h2d_memcpy(dpa, argument, &work, sizeof(work)));
		CHECK(doca_dpa_rpc(dpa, &visits, &result, argument, (uint64_t)rank, (uint32_t)at++));
		first += result;
		CHECK(doca_mmap_destroy(remote));
	}
	CHECK(doca_sync_event_wait_gt(signalled, PROGRAMS - 2, ALL));
	CHECK(doca_dpa_rpc(dpa, &hears, &result, argument));
	CHECK(doca_dpa_d2h_memcpy(dpa, words, work.other_buffer, sizeof(words)));
	printf("program %d: written", rank);
	for (int peer = 0; peer < PROGRAMS; peer++)
		printf(" %lu", words[WRITTEN + peer]);
	printf(", added %lu, heard %lu\n", words[ADDED], result);
	fflush(stdout);
	__atomic_fetch_add(&meeting->first, first, __ATOMIC_ACQ_REL);
	wait_for_all(meeting, 2);
	if (!rank)
		printf("first at %lu of %d\n", meeting->first, PROGRAMS);
	for (int peer = 0; peer < PROGRAMS; peer++)
		if (peer != rank)
			CHECK(doca_sync_event_remote_net_destroy(there[peer]));
	CHECK(doca_sync_event_destroy(signalled));
	close_end(&end);
}

/* Starts this program three times more, and meets the others. */
static void together(void)
{
	int memory = memfd_create("meeting", 0);

	if (memory < 0 || ftruncate(memory, sizeof(struct meeting)) || dup2(memory, MEETING) < 0)
		exit(1);
	fflush(stdout);
	for (int rank = 1; rank < PROGRAMS; rank++) {
		char number[8];

		snprintf(number, sizeof(number), "%d", rank);
		if (!fork()) {
			execl("/proc/self/exe", "doca", "--scene", "member", "--number", number, NULL);
			exit(1);
		}
	}
	member(0);
	while (wait(NULL) > 0)
		;
}

static void ping_pongs(uint32_t count)
{
	struct end ends[2] = { 0 };
	struct work work[2] = { 0 };
	struct doca_mmap *maps[2];
	uint64_t arguments[2], result, left = count;
	struct doca_sync_event *done = event(0, &work[0].event);

	work[1].event = work[0].event;
	for (int at = 0; at < 2; at++) {
		arguments[at] = block(sizeof(work[at]));
		ends[at].thread = thread(&ping_pong, arguments[at], to_device(&left, 8));
		open_end(&ends[at], device, dpa, 1, 1);
		CHECK(doca_rdma_get_dpa_handle(ends[at].rdma, &work[at].rdma));
		CHECK(doca_dpa_completion_get_dpa_handle(ends[at].completion, &work[at].completion));
		work[at].buffer = block(64);
		maps[at] = map(NULL, work[at].buffer, 64, device, &work[at].key);
		work[at].count = 20 + at;
		CHECK(doca_dpa_h2d_memcpy(dpa, arguments[at], &work[at], sizeof(work[at])));
		CHECK(doca_dpa_thread_run(ends[at].thread));
	}
	connect_ends(&ends[0], &ends[1], 1);
	double begin = time_used();

	CHECK(doca_dpa_rpc(dpa, &begin_ping_pong, &result, work[0], work[1]));
	CHECK(doca_sync_event_wait_gt(done, 1, ALL));
	if (count > 1000)
		fprintf(stderr, "a message: %.0f ns\n", (time_used() - begin) / count / 2);
	printf("begun with %lu, %u each\n", result, count);
	for (int at = 0; at < 2; at++) {
		CHECK(doca_mmap_destroy(maps[at]));
		close_end(&ends[at]);
	}
	CHECK(doca_sync_event_destroy(done));
}

/* The last error scenes: one remote call each, with what it needs. */
static void calls(const char *name)
{
	static uint64_t host[16] __attribute__((aligned(64)));
	struct work work = { .host_memory = (uint64_t)host };
	struct end end = { 0 };
	struct doca_dev *sf = open_device("mlx5_2");
	uint64_t result = 0, argument = block(sizeof(work)), unwritten, stale;
	struct doca_sync_event *gone = event(0, &stale);

	CHECK(doca_sync_event_destroy(gone));
	open_end(&end, device, dpa, 1, 1);
	CHECK(doca_rdma_get_dpa_handle(end.rdma, &work.other_rdma));
	map(host, 0, sizeof(host), device, &work.host_key);
	map(host, 0, sizeof(host), sf, &work.sf_key);
	CHECK(doca_dpa_h2d_memcpy(dpa, argument, &work, sizeof(work)));
	CHECK(doca_dpa_mem_alloc(dpa, 64, &unwritten));
	if (!strcmp(name, "unaligned"))
		CHECK(doca_dpa_rpc(dpa, &unaligned, &result, argument));
	else if (!strcmp(name, "of_the_sf"))
		CHECK(doca_dpa_rpc(dpa, &of_the_sf, &result, argument));
	else if (!strcmp(name, "no_connection"))
		CHECK(doca_dpa_rpc(dpa, &no_connection, &result, argument));
	else if (!strcmp(name, "reads_first"))
		CHECK(doca_dpa_rpc(dpa, &reads_first, &result, unwritten));
	else if (!strcmp(name, "reschedules"))
		SAY(doca_dpa_rpc(dpa, &reschedules, &result));
	else
		CHECK(doca_dpa_rpc(dpa, &old_event, &result, stale));
	printf("result %lu\n", result);
	close_end(&end);
}

/* After a crash calls answer, waits end, and things can be destroyed. */
static void crash(void)
{
	struct end end = { 0 };
	struct work work = { 0 };
	uint64_t handle, result, address = block(64), argument = to_device(&work, sizeof(work));
	struct doca_sync_event *done = event(0, &handle);

	end.thread = thread(&sleeps, argument, 0);
	open_end(&end, device, dpa, 1, 4);
	SAY(doca_dpa_peek_at_last_error(dpa));
	CHECK(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, done, 1, 4, &crashes, address));
	SAY(doca_sync_event_wait_gt(done, 0, ALL));
	SAY(doca_dpa_peek_at_last_error(dpa));
	SAY(doca_dpa_rpc(dpa, &post_receives, &result, argument, 1ul));
	SAY(doca_dpa_thread_run(end.thread));
	SAY(doca_dpa_mem_alloc(dpa, 8, &address));
	close_end(&end);
	CHECK(doca_sync_event_destroy(done));
	CHECK(doca_dpa_destroy(dpa));
	CHECK(doca_dev_close(device));
}

static void waiters(void)
{
	uint64_t handles[2];
	struct doca_sync_event *first = event(1, &handles[0]), *second = event(0, &handles[1]);

	CHECK(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 1, &waits_for_host, handles[0],
						handles[1], 4ul));
	settle();
	CHECK(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 1, &waits_as_well, handles[0]));
	settle();
	CHECK(doca_sync_event_update_set(first, 9));
	CHECK(doca_sync_event_wait_gt(second, 0, ALL));
	printf("waited\n");
}

/* Handles that are null, old, or of another kind; calls in a wrong order. */
/* Pairs of verbs whose attributes lack something, or name memory that is too small. */
static void pairs(void)
{
	struct doca_verbs_qp_init_attr *init;
	struct doca_verbs_qp_attr *change;
	struct doca_verbs_context *context;
	struct doca_devinfo **list;
	struct doca_verbs_pd *pd;
	struct doca_verbs_qp *qp;
	struct doca_umem *umem;
	struct doca_uar *uar;
	struct end end = { 0 };
	uint64_t memory = block(320);
	uint32_t count;

	open_end(&end, device, dpa, 1, 1);
	CHECK(doca_devinfo_create_list(&list, &count));
	CHECK(doca_verbs_context_create(list[0], DOCA_VERBS_CONTEXT_CREATE_FLAGS_NONE, &context));
	CHECK(doca_devinfo_destroy_list(list));
	CHECK(doca_verbs_pd_create(context, &pd));
	CHECK(doca_uar_dpa_create(dpa, &uar));
	SAY(doca_umem_dpa_create(dpa, memory, 321, 0, &umem));
	CHECK(doca_umem_dpa_create(dpa, memory, 320, 0, &umem));
	CHECK(doca_verbs_qp_init_attr_create(&init));
	SAY(doca_verbs_qp_create(context, init, &qp));
	CHECK(doca_verbs_qp_init_attr_set_external_datapath_en(init, 1));
	CHECK(doca_verbs_qp_init_attr_set_external_uar(init, uar));
	CHECK(doca_verbs_qp_init_attr_set_pd(init, pd));
	SAY(doca_verbs_qp_create(context, init, &qp));
	CHECK(doca_verbs_qp_init_attr_set_send_dpa_completion(init, end.completion));
	CHECK(doca_verbs_qp_init_attr_set_receive_dpa_completion(init, end.completion));
	CHECK(doca_verbs_qp_init_attr_set_external_umem(init, umem, 32));
	CHECK(doca_verbs_qp_init_attr_set_external_dbr_umem(init, umem, 0));
	/* 64 bytes of receives, and 256 of sends. */
	CHECK(doca_verbs_qp_init_attr_set_rq_wr(init, 4));
	CHECK(doca_verbs_qp_init_attr_set_sq_wr(init, 4));
	SAY(doca_verbs_qp_create(context, init, &qp));
	CHECK(doca_verbs_qp_init_attr_set_external_umem(init, umem, 64));
	SAY(doca_verbs_qp_create(context, init, &qp));
	CHECK(doca_verbs_qp_init_attr_set_external_umem(init, umem, 0));
	CHECK(doca_verbs_qp_create(context, init, &qp));
	CHECK(doca_verbs_qp_attr_create(&change));
	CHECK(doca_verbs_qp_attr_set_next_state(change, DOCA_VERBS_QP_STATE_RTS));
	CHECK(doca_verbs_qp_modify(qp, change, DOCA_VERBS_QP_ATTR_SQ_PSN));
	SAY(doca_verbs_qp_modify(qp, change, DOCA_VERBS_QP_ATTR_NEXT_STATE));
	CHECK(doca_verbs_qp_attr_destroy(change));
	CHECK(doca_verbs_qp_destroy(qp));
	CHECK(doca_verbs_qp_init_attr_destroy(init));
	CHECK(doca_umem_destroy(umem));
	CHECK(doca_uar_destroy(uar));
	CHECK(doca_verbs_pd_destroy(pd));
	CHECK(doca_verbs_context_destroy(context));
	close_end(&end);
}

static struct doca_verbs_qp *open_pair(struct doca_verbs_context *context, struct doca_verbs_pd *pd,
				       struct doca_dpa_completion *completion)
{
	struct doca_verbs_qp_init_attr *init;
	struct doca_umem *umem, *record;
	struct doca_verbs_qp *qp;
	struct doca_uar *uar;

	CHECK(doca_uar_dpa_create(dpa, &uar));
	CHECK(doca_umem_dpa_create(dpa, block(320), 320, 0, &umem));
	CHECK(doca_umem_dpa_create(dpa, block(64), 64, 0, &record));
	CHECK(doca_verbs_qp_init_attr_create(&init));
	CHECK(doca_verbs_qp_init_attr_set_external_datapath_en(init, 1));
	CHECK(doca_verbs_qp_init_attr_set_external_uar(init, uar));
	CHECK(doca_verbs_qp_init_attr_set_external_umem(init, umem, 0));
	CHECK(doca_verbs_qp_init_attr_set_external_dbr_umem(init, record, 8));
	CHECK(doca_verbs_qp_init_attr_set_pd(init, pd));
	CHECK(doca_verbs_qp_init_attr_set_send_dpa_completion(init, completion));
	CHECK(doca_verbs_qp_init_attr_set_receive_dpa_completion(init, completion));
	CHECK(doca_verbs_qp_init_attr_set_rq_wr(init, 4));
	CHECK(doca_verbs_qp_init_attr_set_sq_wr(init, 4));
	CHECK(doca_verbs_qp_create(context, init, &qp));
	CHECK(doca_verbs_qp_init_attr_destroy(init));
	CHECK(doca_umem_destroy(umem));
	CHECK(doca_umem_destroy(record));
	CHECK(doca_uar_destroy(uar));
	return qp;
}

static void connect_pair(struct doca_verbs_qp *qp, struct doca_verbs_qp *peer)
{
	static const enum doca_verbs_qp_state states[] = { DOCA_VERBS_QP_STATE_INIT, DOCA_VERBS_QP_STATE_RTR,
							   DOCA_VERBS_QP_STATE_RTS };
	struct doca_verbs_qp_attr *change;

	CHECK(doca_verbs_qp_attr_create(&change));
	CHECK(doca_verbs_qp_attr_set_allow_remote_write(change, 1));
	CHECK(doca_verbs_qp_attr_set_allow_remote_read(change, 1));
	CHECK(doca_verbs_qp_attr_set_dest_qp_num(change, doca_verbs_qp_get_qpn(peer)));
	for (int at = 0; at < 3; at++) {
		CHECK(doca_verbs_qp_attr_set_next_state(change, states[at]));
		CHECK(doca_verbs_qp_modify(qp, change,
					   DOCA_VERBS_QP_ATTR_NEXT_STATE |
						   DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE |
						   DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ |
						   DOCA_VERBS_QP_ATTR_DEST_QP_NUM));
	}
	CHECK(doca_verbs_qp_attr_destroy(change));
}

/* Two pairs of verbs. */
static void verbs(void)
{
	uint64_t left_handle, right_handle, completions, buffer, result, words[4];
	struct doca_dpa_completion *completion;
	struct doca_verbs_context *context;
	struct doca_verbs_qp *left, *right;
	struct doca_devinfo **list;
	struct doca_verbs_pd *pd;
	struct doca_mmap *memory;
	uint32_t count, key;

	CHECK(doca_devinfo_create_list(&list, &count));
	CHECK(doca_verbs_context_create(list[0], DOCA_VERBS_CONTEXT_CREATE_FLAGS_NONE, &context));
	CHECK(doca_devinfo_destroy_list(list));
	CHECK(doca_verbs_pd_create(context, &pd));
	CHECK(doca_verbs_pd_as_doca_dev(pd, &device));
	CHECK(doca_dpa_create(device, &dpa));
	CHECK(doca_dpa_set_app(dpa, doca));
	CHECK(doca_dpa_start(dpa));
	CHECK(doca_dpa_completion_create(dpa, 8, &completion));
	CHECK(doca_dpa_completion_start(completion));
	CHECK(doca_dpa_completion_get_dpa_handle(completion, &completions));
	left = open_pair(context, pd, completion);
	right = open_pair(context, pd, completion);
	connect_pair(left, right);
	connect_pair(right, left);
	buffer = block(sizeof(words));
	memory = map(NULL, buffer, sizeof(words), device, &key);
	CHECK(doca_verbs_qp_get_dpa_handle(left, dpa, &left_handle));
	CHECK(doca_verbs_qp_get_dpa_handle(right, dpa, &right_handle));
	CHECK(doca_dpa_rpc(dpa, &by_verbs, &result, left_handle, right_handle, completions, buffer, key));
	CHECK(doca_dpa_d2h_memcpy(dpa, words, buffer, sizeof(words)));
	printf("types %lu, words %lu %lu %lu\n", result, words[1], words[2], words[3]);
	SAY(doca_dpa_stop(dpa));
	CHECK(doca_verbs_qp_destroy(left));
	CHECK(doca_verbs_qp_destroy(right));
	CHECK(doca_mmap_destroy(memory));
	CHECK(doca_dpa_completion_destroy(completion));
	CHECK(doca_dpa_destroy(dpa));
}

/* Exports of maps and events are taken as a whole: neither less nor more, and nobody's. */
static void exports(void)
{
	struct doca_sync_event_remote_net *there;
	struct doca_sync_event *here;
	struct doca_mmap *map_there;
	const uint8_t *export;
	static const uint8_t exported[33];
	size_t bytes;

	CHECK(doca_sync_event_create(&here));
	CHECK(doca_sync_event_add_publisher_location_remote_net(here));
	CHECK(doca_sync_event_add_subscriber_location_cpu(here, device));
	CHECK(doca_sync_event_start(here));
	CHECK(doca_sync_event_export_to_remote_net(here, &export, &bytes));
	SAY(doca_sync_event_remote_net_create_from_export(device, export, bytes - 1, &there));
	SAY(doca_sync_event_remote_net_create_from_export(device, export, bytes + 1, &there));
	SAY(doca_sync_event_remote_net_create_from_export(device, NULL, bytes, &there));
	CHECK(doca_sync_event_remote_net_create_from_export(device, export, bytes, &there));
	CHECK(doca_sync_event_remote_net_destroy(there));
	CHECK(doca_sync_event_destroy(here));
	SAY(doca_mmap_create_from_export(NULL, exported, 31, device, &map_there));
	SAY(doca_mmap_create_from_export(NULL, exported, 33, device, &map_there));
}

static void wrong(void)
{
	struct doca_dpa *other, *extended;
	struct doca_dpa_thread *one;
	struct doca_dpa_completion *completion;
	struct doca_rdma *rdma;
	struct doca_mmap *mmap;
	uint64_t address, result;

	SAY(doca_dpa_start(NULL));
	SAY(doca_dpa_start((struct doca_dpa *)device));
	SAY(doca_dpa_start(dpa));
	SAY(doca_dpa_set_app(dpa, doca));
	CHECK(doca_dpa_create(device, &other));
	SAY(doca_dpa_mem_alloc(other, 8, &address));
	SAY(doca_dpa_start(other));
	SAY(doca_dpa_set_app(other, NULL));
	SAY(doca_dpa_device_extend(other, device, &extended));
	CHECK(doca_dpa_destroy(other));
	SAY(doca_dpa_destroy(other));
	SAY(doca_dpa_create(NULL, &other));
	SAY(doca_dpa_create(device, NULL));
	SAY(doca_dpa_rpc(dpa, (doca_dpa_func_t *)&usleep, &result));
	SAY(doca_dpa_rpc(dpa, NULL, &result));
	SAY(doca_dpa_mem_free(dpa, 64));
	SAY(doca_dpa_h2d_memcpy(dpa, block(8), &address, 9));
	CHECK(doca_dpa_thread_create(dpa, &one));
	SAY(doca_dpa_thread_start(one));
	SAY(doca_dpa_thread_run(one));
	CHECK(doca_dpa_thread_set_func_arg(one, &sleeps, 0));
	CHECK(doca_dpa_thread_start(one));
	SAY(doca_dpa_thread_start(one));
	SAY(doca_dpa_thread_set_local_storage(one, 64));
	CHECK(doca_dpa_thread_run(one));
	SAY(doca_dpa_thread_run(one));
	SAY(doca_dpa_stop(dpa));
	SAY(doca_dpa_completion_create(dpa, 0, &completion));
	CHECK(doca_dpa_completion_create(dpa, 5, &completion));
	SAY(doca_dpa_completion_get_dpa_handle(completion, &address));
	SAY(doca_dpa_completion_set_thread(completion, (struct doca_dpa_thread *)completion));
	CHECK(doca_rdma_create(device, &rdma));
	SAY(doca_ctx_start(doca_rdma_as_ctx(rdma)));
	SAY(doca_rdma_dpa_completion_attach(rdma, completion));
	SAY(doca_rdma_set_recv_queue_size(rdma, 0));
	SAY(doca_rdma_connect(rdma, &address, 8, NULL));
	CHECK(doca_mmap_create(&mmap));
	SAY(doca_mmap_start(mmap));
	SAY(doca_mmap_set_dpa_memrange(mmap, dpa, 64, 8));
	SAY(doca_dpa_async_ops_create(dpa, 1, 0, NULL));
	exports();
	pairs();
	SAY(doca_dev_close(device));
}

static void ethernet(void)
{
	struct doca_verbs_eth_sq_init_attr *sq_attributes;
	struct doca_verbs_eth_rq_init_attr *rq_attributes;
	struct doca_verbs_context *context;
	struct doca_verbs_pd *pd;
	struct doca_verbs_eth_sq *sq;
	struct doca_verbs_eth_rq *rq;
	struct doca_dpa_completion *completion;
	struct doca_flow_cfg *flow;
	struct doca_flow_port_cfg *port_cfg;
	struct doca_flow_port *port;
	struct doca_flow_pipe_cfg *pipe_cfg;
	struct doca_flow_pipe *pipe;
	struct doca_flow_pipe_entry *entry;
	struct doca_flow_match all = { 0 }, some = { { 1 } };
	uint16_t queue = 5;
	struct doca_flow_fwd forward = { .type = DOCA_FLOW_FWD_RSS,
					 .rss = { .queues_array = &queue, .nr_queues = 1 } };
	static uint8_t memory[2 * FRAMES * 128];
	uint64_t sq_handle, rq_handle, completions, result, sum = 0;
	struct doca_devinfo **list;
	struct ibv_mr *mr;
	uint32_t count;

	CHECK(doca_devinfo_create_list(&list, &count));
	CHECK(doca_verbs_context_create(list[0], DOCA_VERBS_CONTEXT_CREATE_FLAGS_NONE, &context));
	CHECK(doca_devinfo_destroy_list(list));
	CHECK(doca_verbs_pd_create(context, &pd));
	CHECK(doca_verbs_pd_as_doca_dev(pd, &device));
	CHECK(doca_dpa_create(device, &dpa));
	CHECK(doca_dpa_set_app(dpa, doca));
	CHECK(doca_dpa_start(dpa));
	CHECK(doca_dpa_completion_create(dpa, 4 * FRAMES, &completion));
	CHECK(doca_dpa_completion_start(completion));
	CHECK(doca_verbs_eth_sq_init_attr_create(&sq_attributes));
	SAY(doca_verbs_eth_sq_create(context, sq_attributes, &sq));
	CHECK(doca_verbs_eth_sq_init_attr_set_external_datapath_en(sq_attributes, 1));
	SAY(doca_verbs_eth_sq_create(context, sq_attributes, &sq));
	CHECK(doca_verbs_eth_sq_init_attr_set_pd(sq_attributes, pd));
	CHECK(doca_verbs_eth_sq_init_attr_set_dpa(sq_attributes, dpa));
	CHECK(doca_verbs_eth_sq_init_attr_set_dpa_completion(sq_attributes, completion));
	CHECK(doca_verbs_eth_sq_init_attr_set_wr_num(sq_attributes, FRAMES));
	SAY(doca_verbs_eth_sq_init_attr_set_max_sges(sq_attributes, 3));
	CHECK(doca_verbs_eth_sq_init_attr_set_max_sges(sq_attributes, 2));
	CHECK(doca_verbs_eth_sq_init_attr_set_ts_source_type(sq_attributes, DOCA_VERBS_TS_SOURCE_REAL_TIME));
	CHECK(doca_verbs_eth_sq_create(context, sq_attributes, &sq));
	CHECK(doca_verbs_eth_sq_init_attr_destroy(sq_attributes));
	CHECK(doca_verbs_eth_rq_init_attr_create(&rq_attributes));
	CHECK(doca_verbs_eth_rq_init_attr_set_external_datapath_en(rq_attributes, 1));
	CHECK(doca_verbs_eth_rq_init_attr_set_pd(rq_attributes, pd));
	CHECK(doca_verbs_eth_rq_init_attr_set_dpa(rq_attributes, dpa));
	CHECK(doca_verbs_eth_rq_init_attr_set_dpa_completion(rq_attributes, completion));
	CHECK(doca_verbs_eth_rq_init_attr_set_wr_num(rq_attributes, FRAMES));
	CHECK(doca_verbs_eth_rq_init_attr_set_max_sges(rq_attributes, 2));
	CHECK(doca_verbs_eth_rq_init_attr_set_queue_id(rq_attributes, queue));
	CHECK(doca_verbs_eth_rq_create(context, rq_attributes, &rq));
	CHECK(doca_verbs_eth_rq_init_attr_destroy(rq_attributes));
	CHECK(doca_flow_cfg_create(&flow));
	CHECK(doca_flow_cfg_set_pipe_queues(flow, 1));
	CHECK(doca_flow_init(flow));
	CHECK(doca_flow_cfg_destroy(flow));
	CHECK(doca_flow_port_cfg_create(&port_cfg));
	CHECK(doca_flow_port_cfg_set_dev(port_cfg, device));
	CHECK(doca_flow_port_start(port_cfg, &port));
	CHECK(doca_flow_port_cfg_destroy(port_cfg));
	CHECK(doca_flow_pipe_cfg_create(&pipe_cfg, port));
	SAY(doca_flow_pipe_create(pipe_cfg, &forward, NULL, &pipe));
	CHECK(doca_flow_pipe_cfg_set_is_root(pipe_cfg, true));
	CHECK(doca_flow_pipe_cfg_set_match(pipe_cfg, &some, NULL));
	SAY(doca_flow_pipe_create(pipe_cfg, &forward, NULL, &pipe));
	CHECK(doca_flow_pipe_cfg_set_match(pipe_cfg, &all, NULL));
	CHECK(doca_flow_pipe_create(pipe_cfg, &forward, NULL, &pipe));
	CHECK(doca_flow_pipe_cfg_destroy(pipe_cfg));
	CHECK(doca_flow_pipe_basic_add_entry(0, pipe, &all, 0, NULL, NULL, NULL, 0, NULL, &entry));
	CHECK(doca_flow_entries_process(port, 0, 1000, 1));
	mr = ibv_reg_mr(doca_verbs_bridge_verbs_pd_get_ibv_pd(pd), memory, sizeof(memory),
			IBV_ACCESS_LOCAL_WRITE);
	for (int at = 0; at < FRAMES * 128; at++)
		memory[at] = (uint8_t)(at * 7 + at / 128 * 3);
	CHECK(doca_verbs_eth_sq_get_dpa_handle(sq, dpa, &sq_handle));
	CHECK(doca_verbs_eth_rq_get_dpa_handle(rq, dpa, &rq_handle));
	CHECK(doca_dpa_completion_get_dpa_handle(completion, &completions));
	CHECK(doca_dpa_rpc(dpa, &frames, &result, sq_handle, rq_handle, completions, (uint64_t)memory, mr->rkey));
	for (int at = 0; at < FRAMES; at++) {
		uint8_t *sent = memory + 128 * at, *received = sent + sizeof(memory) / 2;

		sum += !memcmp(received, sent, 14) && !memcmp(received + 14, sent + 20, 46 + at);
	}
	printf("result %lu, %lu frames alike\n", result, sum);
	SAY(doca_verbs_eth_rq_destroy(rq));
	doca_flow_pipe_destroy(pipe);
	CHECK(doca_verbs_eth_rq_destroy(rq));
	SAY(doca_dpa_stop(dpa));
	CHECK(doca_verbs_eth_sq_destroy(sq));
	CHECK(doca_flow_port_stop(port));
	CHECK(doca_dpa_completion_destroy(completion));
	ibv_dereg_mr(mr);
	CHECK(doca_dpa_destroy(dpa));
	SAY(doca_verbs_pd_destroy(pd));
	CHECK(doca_dev_close(device));
	CHECK(doca_verbs_pd_destroy(pd));
	CHECK(doca_verbs_context_destroy(context));
}

static struct arguments {
	char scene[32];
	int number;
} arguments = { "", 0 };

static doca_error_t take_scene(void *value, void *config)
{
	strncpy(((struct arguments *)config)->scene, value, sizeof(arguments.scene) - 1);
	return DOCA_SUCCESS;
}

static doca_error_t take_number(void *value, void *config)
{
	((struct arguments *)config)->number = *(int *)value;
	return *(int *)value < 0 ? DOCA_ERROR_INVALID_VALUE : DOCA_SUCCESS;
}

static void parse(int count, char **words)
{
	struct doca_argp_param *scene, *number;

	CHECK(doca_argp_init("test", &arguments));
	CHECK(doca_argp_param_create(&scene));
	doca_argp_param_set_short_name(scene, "s");
	doca_argp_param_set_long_name(scene, "scene");
	doca_argp_param_set_callback(scene, take_scene);
	doca_argp_param_set_type(scene, DOCA_ARGP_TYPE_STRING);
	doca_argp_param_set_mandatory(scene);
	CHECK(doca_argp_register_param(scene));
	CHECK(doca_argp_param_create(&number));
	doca_argp_param_set_long_name(number, "number");
	doca_argp_param_set_callback(number, take_number);
	doca_argp_param_set_type(number, DOCA_ARGP_TYPE_INT);
	CHECK(doca_argp_register_param(number));
	CHECK(doca_argp_start(count, words));
	CHECK(doca_argp_destroy());
}

int main(int count, char **words)
{
	static const char *const modes[] = { "counts", "no_request", "", "not_flushed", "not_reposted",
					     "after_ack", "not_fenced", "window_not_fenced",
					     "too_many_acks" };
	const char *scene = arguments.scene;

	CHECK(doca_log_backend_create_standard());
	parse(count, words);
	if (!strcmp(scene, "ethernet")) {
		ethernet();
		return 0;
	}
	if (!strcmp(scene, "verbs")) {
		verbs();
		return 0;
	}
	device = open_device("mlx5_0");
	CHECK(doca_dpa_create(device, &dpa));
	CHECK(doca_dpa_set_app(dpa, doca));
	CHECK(doca_dpa_start(dpa));
	for (enum mode mode = COUNTS; mode <= TOO_MANY_ACKS; mode++)
		if (!strcmp(scene, modes[mode]))
			messages(mode, mode == COUNTS ? MESSAGES : mode == NOT_REPOSTED ? 2 : 1, 0, 1);
	if (!strcmp(scene, "kernels"))
		kernels(arguments.number);
	else if (!strcmp(scene, "events"))
		events();
	else if (!strcmp(scene, "groups"))
		groups(0);
	else if (!strcmp(scene, "no_attribute"))
		groups(1);
	else if (!strcmp(scene, "extended"))
		messages(COUNTS, MESSAGES, 1, 1);
	else if (!strcmp(scene, "no_device"))
		messages(COUNTS, 1, 1, 0);
	else if (!strcmp(scene, "ping_pong"))
		ping_pongs((uint32_t)arguments.number);
	else if (!strcmp(scene, "between"))
		between("receives", 1);
	else if (!strcmp(scene, "receives"))
		receives(PEER);
	else if (!strcmp(scene, "together"))
		together();
	else if (!strcmp(scene, "member"))
		member(arguments.number);
	else if (!strcmp(scene, "peer_ends"))
		between("leaves", 0);
	else if (!strcmp(scene, "leaves"))
		leaves(PEER);
	else if (!strcmp(scene, "two_waiters"))
		waiters();
	else if (!strcmp(scene, "crash"))
		crash();
	else if (!strcmp(scene, "wrong"))
		wrong();
	else if (!strcmp(scene, "unaligned") || !strcmp(scene, "of_the_sf") || !strcmp(scene, "no_connection") ||
		 !strcmp(scene, "reads_first") || !strcmp(scene, "reschedules") || !strcmp(scene, "old_event"))
		calls(scene);
	return 0;
}

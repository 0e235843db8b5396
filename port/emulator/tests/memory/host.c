/* Calls the device function that the command line names. Its second word is what this part does
   while the function waits. */
#include "common.h"
#include "../../examples/counter/queues/host.h"
#include <pthread.h>
#include <sys/mman.h>

extern struct flexio_app *memory;

static struct shared shared;
static uint64_t *regions, argument;
static volatile uint64_t signal_word;
static struct ibv_mr *first;
static struct flexio_window *window;
static const char *act;

static void *acts(void *unused)
{
	uint32_t yes = 1;

	if (!strcmp(act, "leave")) {
		usleep(3000000);
		exit(0);
	}
	while (!signal_word)
		usleep(1000);
	if (!strcmp(act, "deregister") || !strcmp(act, "unmap"))
		CHECK(ibv_dereg_mr(first));
	if (!strcmp(act, "unmap"))
		CHECK(munmap(regions, 2 * WORDS * 8));
	if (!strcmp(act, "destroy"))
		CHECK(flexio_window_destroy(window));
	CHECK(flexio_host2dev_memcpy(process, &yes, sizeof(yes), argument + offsetof(struct shared, acted)));
	return unused;
}

static uint32_t region(struct ibv_pd *pd, volatile void *at, size_t bytes, struct ibv_mr **made)
{
	*made = ibv_reg_mr(pd, (void *)at, bytes, IBV_ACCESS_LOCAL_WRITE);
	CHECK(!*made);
	return (*made)->lkey;
}

int main(int count, char **words)
{
	struct flexio_window *signals;
	struct flexio_process *other;
	struct ibv_mr *more;
	struct ibv_pd *pd;
	uint64_t result;
	pthread_t thread;
	flexio_func_t *function;

	CHECK(count < 2);
	act = count > 2 ? words[2] : "nothing";
	regions = mmap(NULL, 2 * WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(regions == MAP_FAILED);
	for (int at = 0; at < 2 * WORDS; at++)
		regions[at] = at < WORDS ? 10 + at : 1000 * (at - WORDS + 1);
	open_process(memory);
	pd = ibv_alloc_pd(context);
	shared.host_a = (uint64_t)regions;
	shared.host_b = (uint64_t)(regions + WORDS);
	shared.host_signal = (uint64_t)&signal_word;
	shared.key_a = region(pd, regions, WORDS * 8, &first);
	shared.key_b = region(pd, regions + WORDS, WORDS * 8, &more);
	shared.key_both = region(pd, regions, 2 * WORDS * 8, &more);
	shared.key_signal = region(pd, &signal_word, 8, &more);
	CHECK(flexio_window_create(process, pd, &window));
	CHECK(flexio_window_create(process, pd, &signals));
	shared.window = flexio_window_get_id(window);
	shared.signal_window = flexio_window_get_id(signals);
	shared.first = device_memory(process, 200);
	shared.second = device_memory(process, 76);
	shared.freed = device_memory(process, 48);
	CHECK(flexio_buf_dev_free(process, shared.freed));
	CHECK(flexio_process_create(context, memory, NULL, &other));
	shared.foreign = device_memory(other, 56);
	if (!strcmp(act, "free_twice")) {
		CHECK(flexio_buf_dev_free(process, shared.freed) != FLEXIO_STATUS_FAILED);
		CHECK(flexio_buf_dev_free(process, shared.second));
		CHECK(flexio_buf_dev_alloc(process, 76, &shared.second));
	}
	CHECK(flexio_copy_from_host(process, &shared, sizeof(shared), &argument));
	CHECK(pthread_create(&thread, NULL, acts, NULL));
	CHECK(flexio_func_register(memory, words[1], &function));
	printf("status %d, ", flexio_process_call(process, function, &result, argument));
	printf("result %lu\n", result);
	return 0;
}

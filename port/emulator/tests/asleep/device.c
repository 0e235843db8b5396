/* Device part: handlers that go to sleep in several ways. */
#include "common.h"
#include "../../examples/counter/queues/device.h"

/* Takes the completions of a queue until there is none. */
static inline void take(struct state *state, struct queue *queue)
{
	while (next(queue)) {
		flexio_dev_dbr_cq_set_ci((uint32_t *)queue->record, ++queue->index);
		__atomic_fetch_add(&state->done, 1, __ATOMIC_RELEASE);
	}
}

/* Takes frames and never arms. */
__dpa_global__ void takes_frames(uint64_t argument)
{
	struct state *state = (void *)argument;
	uint32_t bytes;

	while (next_frame(&state->queues, &bytes)) {
		__atomic_fetch_add(&state->done, 1, __ATOMIC_RELEASE);
		frame_done(&state->queues);
	}
	flexio_dev_thread_reschedule(); /* ERROR frames */
}

/* Polls until its host lets it stop, and does not arm then. */
__dpa_global__ void spins(uint64_t argument)
{
	struct state *state = (void *)argument;
	uint32_t bytes;

	while (!__atomic_load_n(&state->stop, __ATOMIC_ACQUIRE)) {
		if (!next_frame(&state->queues, &bytes))
			continue;
		__atomic_fetch_add(&state->done, 1, __ATOMIC_RELEASE);
		frame_done(&state->queues);
	}
	flexio_dev_thread_reschedule();
}

/* Sleeps until it is set up. */
__dpa_global__ void waits_for_setup(uint64_t argument)
{
	struct state *state = (void *)argument;

	if (!__atomic_load_n(&state->ready, __ATOMIC_ACQUIRE))
		flexio_dev_thread_reschedule(); /* ERROR setup */
	take(state, &state->queues.cq);
	arm(&state->queues.cq);
	flexio_dev_thread_reschedule();
}

/* Takes what is there, and arms only its bell, if it has one. */
__dpa_global__ void takes(uint64_t argument)
{
	struct state *state = (void *)argument;

	take(state, &state->queues.cq);
	if (state->bell.number) {
		take(state, &state->bell);
		arm(&state->bell);
	}
	flexio_dev_thread_reschedule(); /* ERROR takes */
}

/* Does nothing. Another thread takes its completions. */
__dpa_global__ void sleeps(uint64_t argument)
{
	(void)argument;
	flexio_dev_thread_reschedule();
}

__dpa_rpc__ uint64_t wake(uint64_t queue, uint64_t times)
{
	while (times--)
		flexio_dev_msix_send(queue);
	return 0;
}

__dpa_rpc__ uint64_t activate(uint64_t handler)
{
	flexio_dev_event_handler_activate(handler); /* ERROR activate */
	return 0;
}

__dpa_rpc__ uint64_t set_up(uint64_t argument)
{
	__atomic_store_n(&((struct state *)argument)->ready, 1, __ATOMIC_RELEASE);
	return 0;
}

__dpa_rpc__ uint64_t stop(uint64_t argument)
{
	__atomic_store_n(&((struct state *)argument)->stop, 1, __ATOMIC_RELEASE);
	return 0;
}

__dpa_rpc__ uint64_t arm_for_it(uint64_t argument)
{
	arm(&((struct state *)argument)->queues.cq);
	return 0;
}

__dpa_rpc__ uint64_t done(uint64_t argument)
{
	return __atomic_load_n(&((struct state *)argument)->done, __ATOMIC_ACQUIRE);
}

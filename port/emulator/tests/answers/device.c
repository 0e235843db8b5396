/* Device part: handlers that poll for the other's answer and never sleep. */
#include "common.h"
#include "../../examples/counter/queues/device.h"

/* Over completion queues, which nobody arms. */
__dpa_global__ void over_queues(uint64_t argument)
{
	struct side *side = (void *)argument;

	while (side->done < side->wanted) {
		while (!next(&side->queue))
			;
		flexio_dev_dbr_cq_set_ci((uint32_t *)side->queue.record, ++side->queue.index);
		__atomic_fetch_add(&side->done, 1, __ATOMIC_RELEASE);
		flexio_dev_msix_send(side->other);
	}
	flexio_dev_thread_finish();
}

/* Over two words. */
__dpa_global__ void over_words(uint64_t argument)
{
	struct side *side = (void *)argument;
	uint64_t *word = (uint64_t *)side->word, *other = (uint64_t *)side->other_word;
	uint64_t step = side->step, wanted = side->wanted;

	for (uint64_t turn = 1; turn <= wanted; turn++) {
		while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < turn)
			;
		__atomic_store_n(other, turn + step, __ATOMIC_RELEASE);
		__atomic_store_n(&side->done, turn, __ATOMIC_RELEASE);
	}
	flexio_dev_thread_finish();
}

__dpa_rpc__ uint64_t wake(uint64_t queue)
{
	flexio_dev_msix_send(queue);
	return 0;
}

__dpa_rpc__ uint64_t done(uint64_t argument)
{
	return __atomic_load_n(&((struct side *)argument)->done, __ATOMIC_ACQUIRE);
}

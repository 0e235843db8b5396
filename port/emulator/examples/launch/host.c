/* Host part: a kernel on 16 threads, whose event says when all are through. */
#include <doca_dpa.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 16
#define CHECK(call)                                                                         \
	do {                                                                                \
		doca_error_t error = (call);                                                \
		if (error != DOCA_SUCCESS) {                                                \
			fprintf(stderr, "%s: %s\n", #call, doca_error_get_descr(error));    \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

extern struct doca_dpa_app *launch;
doca_dpa_func_t square;

int main(void)
{
	struct doca_devinfo **list;
	struct doca_dev *device;
	struct doca_dpa *dpa;
	struct doca_sync_event *done;
	doca_dpa_dev_uintptr_t results;
	uint64_t squares[THREADS], sum = 0;
	uint32_t count;

	CHECK(doca_devinfo_create_list(&list, &count));
	CHECK(doca_dev_open(list[0], &device));
	CHECK(doca_devinfo_destroy_list(list));
	CHECK(doca_dpa_create(device, &dpa));
	CHECK(doca_dpa_set_app(dpa, launch));
	CHECK(doca_dpa_start(dpa));
	CHECK(doca_sync_event_create(&done));
	CHECK(doca_sync_event_add_publisher_location_dpa(done, dpa));
	CHECK(doca_sync_event_add_subscriber_location_cpu(done, device));
	CHECK(doca_sync_event_start(done));
	CHECK(doca_dpa_mem_alloc(dpa, sizeof(squares), &results));
	CHECK(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, done, 1, THREADS, &square, results));
	CHECK(doca_sync_event_wait_gt(done, 0, UINT64_MAX));
	CHECK(doca_dpa_d2h_memcpy(dpa, squares, results, sizeof(squares)));
	for (int rank = 0; rank < THREADS; rank++)
		sum += squares[rank];
	printf("%d threads, sum of squares %lu\n", THREADS, sum);
	CHECK(doca_dpa_mem_free(dpa, results));
	CHECK(doca_sync_event_destroy(done));
	CHECK(doca_dpa_destroy(dpa));
	CHECK(doca_dev_close(device));
	return 0;
}

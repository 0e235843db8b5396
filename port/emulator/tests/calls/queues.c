/* Queues, handlers, command queues. */
static void queue_calls(void)
{
	struct ibv_device **list;
	struct ibv_context *context;
	struct flexio_process *process;
	uint64_t ring, record, cqn, state, id, sends;
	struct flexio_cq *cq;
	flexio_func_t *handle, *task;
	struct flexio_event_handler *handler, *other;
	struct flexio_thread *thread;
	struct flexio_sq *sq;
	struct flexio_rq *rq;
	struct flexio_wq_attr wq_attr;
	struct flexio_msg_stream *stream;
	struct flexio_cmdq *tasks, *more;
	struct flexio_event_handler_attr event_handler_attr;

	/* Completion queues: what makes one, and what the NIC writes. */
	list = ibv_get_device_list(NULL);
	context = ibv_open_device(*list);
	ibv_alloc_pd(context);
	IS(flexio_process_create(context, calls, NULL, &process), 0);
	IS(flexio_buf_dev_alloc(process, 256, &ring), 0);
	IS(flexio_buf_dev_alloc(process, 16, &record), 0);
	IS(flexio_buf_dev_memset(process, 0xff, 256, ring), 0);
	IS(flexio_buf_dev_memset(process, 0, 16, record), 0);
	SAYS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 23,
		.element_type = 8, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 1,
		"dpa: flexio_cq_create: a depth of 2^23, at most 2^22");
	SAYS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 2,
		.element_type = 8, .cqe_comp_type = 1, .cq_ring_qmem.daddr = ring,
		.cq_dbr_daddr = record }, &cq), 1,
		"dpa: flexio_cq_create: compressed completions are not emulated");
	SAYS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 2,
		.element_type = 2, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 1,
		"dpa: flexio_cq_create: element type 2 is not emulated");
	SAYS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 2,
		.cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 1,
		"dpa: flexio_cq_create: Thread: a null pointer");
	SAYS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 2,
		.element_type = 8, .cq_ring_qmem.memtype = 1, .cq_dbr_daddr = record }, &cq), 1,
		"dpa: flexio_cq_create: a ring in host memory is not emulated");
	SAYS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 1,
		.element_type = 8, .cq_ring_qmem.daddr = ring + 32, .cq_dbr_daddr = record }, &cq),
		1, "dpa: flexio_cq_create: a ring at 0x200000000060 is not aligned to 64");
	SAYS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 3,
		.element_type = 8, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 1,
		"dpa: flexio_cq_create: 0x200000000040: 512 bytes are not in one block");
	SAYS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 2,
		.element_type = 8, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record + 4 }, &cq),
		1,
		"dpa: flexio_cq_create: a doorbell record at 0x200000000184 is not aligned to 8");
	SAYS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 2,
		.element_type = 8, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record + 16 }, &cq),
		1, "dpa: flexio_cq_create: 0x200000000190: 8 bytes are not in one block");
	SAYS(flexio_cq_create(process, NULL, NULL, &cq), 1, "dpa: flexio_cq_create: no attributes");
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 2,
		.element_type = 8, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record + 8 }, &cq),
		0);
	cqn = flexio_cq_get_cq_num(cq);
	IS(cqn, 1024);
	IS(CALL(process, zero, cqn), 0);
	IS(CALL(process, zero, cqn), 0);
	COMPLETION(ring, "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000");
	COMPLETION(ring + 64,
		"00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000");
	BYTES(ring + 128, "ffffffff");
	POKE(record + 8, 1, 4);
	IS(CALL(process, zero, cqn), 0);
	IS(CALL(process, zero, cqn), 0);
	IS(CALL(process, zero, cqn), 0);
	COMPLETION(ring, "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001");
	SAYS(CALL(process, zero, cqn), 0,
		"dpa: completion queue 0x400 overruns: 4 of 4 entries wait, by its doorbell "
			"record");
	SAYS(CALL(process, zero, 0x400 + 9), 0,
		"dpa: process 1, thread 6 (zero), activation 1: no completion queue 0x409 to wake");
	SAYS(CALL(process, arm, 0, 0x400 + 9), 0,
		"dpa: process 1, thread 7 (arm), activation 1: no completion queue 0x409 to arm");
	SAYS(CALL(process, event, 1, 7), 0,
		"dpa: process 1, thread 8 (event), activation 1: event queue 7 does not exist: "
			"event queues are not emulated");
	IS(flexio_cq_destroy(cq), 0);
	SAYS(flexio_cq_destroy(cq), 1, "dpa: flexio_cq_destroy: Cq: it does not exist any more");
	IS(flexio_cq_destroy(NULL), 0);
	SAYS(CALL(process, zero, cqn), 0,
		"dpa: process 1, thread 9 (zero), activation 1: no completion queue 0x400 to wake");

	/* A handler: events before it runs are lost, and each way in which an activation ends. */
	IS(flexio_func_register(calls, "handle", &handle), 0);
	state = filled(process, 96, 0);
	SAYS(flexio_event_handler_create(process,
		&(struct flexio_event_handler_attr){ .host_stub_func = handle, .affinity.type = 3 },
		&handler), 1, "dpa: flexio_event_handler_create: affinity 3 to 0");
	SAYS(flexio_event_handler_create(process,
		&(struct flexio_event_handler_attr){ .host_stub_func = handle, .affinity.type = 1,
		.affinity.id = 256 }, &handler), 1,
		"dpa: flexio_event_handler_create: affinity 1 to 256");
	SAYS(flexio_event_handler_create(process,
		&(struct flexio_event_handler_attr){ .affinity.type = 1, .affinity.id = 255 },
		&handler), 1, "dpa: flexio_event_handler_create: no function");
	IS(flexio_event_handler_create(process,
		&(struct flexio_event_handler_attr){ .host_stub_func = handle, .affinity.type = 1,
		.affinity.id = 255, .arg = state, .thread_local_storage_daddr = 77 }, &handler), 0);
	IS(flexio_event_handler_create(process,
		&(struct flexio_event_handler_attr){ .host_stub_func = handle, .affinity.type = 2,
		.affinity.id = 256 }, &other), 0);
	id = flexio_event_handler_get_id(handler);
	IS(flexio_event_handler_get_id(other), 11);
	thread = flexio_event_handler_get_thread(handler);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 2,
		.thread = thread, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 0);
	cqn = flexio_cq_get_cq_num(cq);
	IS(cqn, 1025);
	SAYS(CALL(process, zero, cqn), 0,
		"dpa: process 1, thread 10 (handle), activation 0: an event of completion queue "
			"0x401 comes before event_handler_run, and is lost; the queue is not armed "
			"any more");
	SAYS(CALL(process, activate, id), 0,
		"dpa: process 1, thread 13 (activate), activation 1: thread 10 (handle) is "
			"activated before event_handler_run, and this event is lost");
	IS(flexio_event_handler_run(handler, state), 0);
	SAYS(flexio_event_handler_run(handler, 7), 1,
		"dpa: flexio_event_handler_run: the handler runs already");
	IS(flexio_event_handler_run(other, state + 48), 0);
	POKE(record, 1, 4);
	IS(CALL(process, arm, 1, cqn), 0);
	IS(CALL(process, zero, cqn), 0);
	UNTIL(WORD(state), 1);
	IS(WORD(state + 8), 0);
	IS(WORD(state + 24), 77);
	IS(WORD(state + 32), 10);
	IS(CALL(process, activate, id), 0);
	UNTIL(WORD(state), 2);
	IS(WORD(state + 8), 0);
	POKE(state + 16, 1, 1);
	IS(CALL(process, activate, id), 0);
	UNTIL(WORD(state), 4);
	IS(WORD(state + 8), 0);
	POKE(state + 16, 3, 1);
	IS(CALL(process, activate, id), 0);
	UNTIL(WORD(state), 5);
	IS(WORD(state + 8), 0);
	IS(CALL(process, activate, id), 0);
	UNTIL(WORD(state + 8), 1);
	IS(WORD(state), 5);
	POKE(state + 16, 4, 1);
	IS(CALL(process, activate, id), 0);
	UNTIL(WORD(state + 8), 2);
	IS(WORD(state), 6);
	IS(WORD(state + 48), 0);
	IS(CALL(process, activate, id + 1), 0);
	UNTIL(WORD(state + 48), 1);
	IS(WORD(state + 80), 11);
	IS(WORD(state + 72), 0);
	SAYS(CALL(process, activate, 99), 0,
		"dpa: process 1, thread 22 (activate), activation 1: no thread 99 to activate");
	POKE(state + 16, 9, 1);
	CALL(process, activate, id);
	UNTIL(CALL(process, load, state), 7);
	SAID("dpa: process 1, thread 10 (handle), activation 7: the handler returned without a "
			"reschedule; it ends");
	IS(CALL(process, activate, id), 0);
	POKE(state + 64, 2, 1);
	IS(CALL(process, activate, id + 1), 0);
	UNTIL(WORD(state + 48), 2);
	IS(CALL(process, activate, id + 1), 0);
	usleep(20000);
	IS(WORD(state + 48), 2);
	IS(WORD(state), 7);

	/* Armed: once, always, never at first, at an index that is past, consumed by nobody. */
	SAYS(flexio_event_handler_destroy(handler), 1,
		"dpa: flexio_event_handler_destroy: a completion queue wakes this handler");
	IS(flexio_cq_destroy(cq), 0);
	IS(flexio_event_handler_destroy(handler), 0);
	SAYS(flexio_event_handler_destroy(handler), 1,
		"dpa: flexio_event_handler_destroy: Thread: it does not exist any more");
	IS(flexio_event_handler_destroy(other), 0);
	IS(flexio_buf_dev_memset(process, 0, 96, state), 0);
	IS(flexio_event_handler_create(process,
		&(struct flexio_event_handler_attr){ .host_stub_func = handle }, &handler), 0);
	IS(flexio_event_handler_run(handler, state), 0);
	thread = flexio_event_handler_get_thread(handler);
	IS(flexio_buf_dev_memset(process, 0xff, 256, ring), 0);
	IS(flexio_buf_dev_memset(process, 0, 16, record), 0);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 2,
		.thread = thread, .no_arm = 1, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record },
		&cq), 0);
	cqn = flexio_cq_get_cq_num(cq);
	IS(CALL(process, zero, cqn), 0);
	IS(CALL(process, zero, cqn), 0);
	IS(CALL(process, arm, 2, cqn), 0);
	usleep(20000);
	IS(WORD(state), 0);
	IS(CALL(process, zero, cqn), 0);
	UNTIL(WORD(state), 1);
	IS(CALL(process, arm, 2, cqn), 0);
	UNTIL(WORD(state), 2);
	POKE(record, 3, 4);
	SAYS(CALL(process, arm, 2, cqn), 0,
		"dpa: process 1, thread 34 (arm), activation 1: completion queue 0x402 is armed at "
			"2, though its record says that 3 completions are consumed");
	UNTIL(WORD(state), 3);
	IS(CALL(process, arm, 0xfffffe, cqn), 0);
	UNTIL(WORD(state), 4);
	SAYS(CALL(process, arm, 4, cqn), 0,
		"dpa: process 1, thread 36 (arm), activation 1: completion queue 0x402 is armed at "
			"4, and 3 completions were written");
	IS(CALL(process, zero, cqn), 0);
	UNTIL(WORD(state), 5);
	IS(CALL(process, zero, cqn), 0);
	usleep(20000);
	IS(WORD(state), 5);
	IS(flexio_cq_destroy(cq), 0);
	IS(flexio_buf_dev_memset(process, 0xff, 256, ring), 0);
	IS(flexio_buf_dev_memset(process, 0, 16, record), 0);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 0,
		.thread = thread, .always_armed = 1, .overrun_ignore = 1,
		.cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 0);
	cqn = flexio_cq_get_cq_num(cq);
	IS(CALL(process, zero, cqn), 0);
	UNTIL(WORD(state), 6);
	IS(CALL(process, zero, cqn), 0);
	UNTIL(WORD(state), 7);
	COMPLETION(ring, "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001");
	IS(CALL(process, zero, cqn), 0);
	UNTIL(WORD(state), 8);
	COMPLETION(ring, "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000");
	BYTES(ring + 64, "ffffffff");
	IS(flexio_cq_destroy(cq), 0);
	IS(flexio_buf_dev_memset(process, 0xff, 256, ring), 0);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 1,
		.element_type = 8, .cc = 1, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record },
		&cq), 0);
	cqn = flexio_cq_get_cq_num(cq);
	IS(CALL(process, zero, cqn), 0);
	IS(CALL(process, zero, cqn), 0);
	COMPLETION(ring, "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000");
	IS(CALL(process, zero, cqn), 0);
	COMPLETION(ring, "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001");
	BYTES(ring + 64, "ffffffff");
	IS(flexio_event_handler_destroy(handler), 0);

	/* Work queues hold their completion queue. */
	IS(flexio_buf_dev_alloc(process, 256, &sends), 0);
	SAYS(flexio_sq_create(process, NULL, cqn, &(struct flexio_wq_attr){ .log_wq_depth = 16,
		.wq_ring_qmem.daddr = sends, .wq_dbr_qmem.daddr = record }, &sq), 1,
		"dpa: flexio_sq_create: a depth of 2^16, at most 2^15");
	SAYS(flexio_rq_create(process, NULL, cqn, &(struct flexio_wq_attr){ .log_wq_depth = 1,
		.log_wq_stride = 3, .wq_ring_qmem.daddr = sends, .wq_dbr_qmem.daddr = record },
		&rq), 1, "dpa: flexio_rq_create: a stride of 2^3");
	SAYS(flexio_rq_create(process, NULL, cqn, &(struct flexio_wq_attr){ .log_wq_depth = 1,
		.log_wq_stride = 10, .wq_ring_qmem.daddr = sends, .wq_dbr_qmem.daddr = record },
		&rq), 1, "dpa: flexio_rq_create: a stride of 2^10");
	SAYS(flexio_sq_create(process, NULL, cqn, &(struct flexio_wq_attr){ .log_wq_depth = 3,
		.wq_ring_qmem.daddr = sends, .wq_dbr_qmem.daddr = record }, &sq), 1,
		"dpa: flexio_sq_create: 0x2000000002c0: 512 bytes are not in one block");
	wq_attr = (struct flexio_wq_attr){ .log_wq_depth = 2, .wq_ring_qmem.daddr = sends,
		.wq_dbr_qmem.daddr = record };
	SAYS(flexio_sq_create(process, NULL, cqn + 1, &wq_attr, &sq), 1,
		"dpa: flexio_sq_create: no completion queue 0x405");
	SAYS(flexio_sq_create(process, NULL, cqn, &wq_attr, NULL), 1,
		"dpa: flexio_sq_create: no place for the result");
	IS(flexio_sq_create(process, NULL, cqn, &wq_attr, &sq), 0);
	IS(flexio_rq_create(process, NULL, cqn, &wq_attr, &rq), 0);
	IS(flexio_sq_get_wq_num(sq), 256);
	IS(flexio_rq_get_wq_num(rq), 257);
	SAYS(flexio_cq_destroy(cq), 1, "dpa: flexio_cq_destroy: work queues complete here");
	IS(flexio_sq_destroy(sq), 0);
	SAYS(flexio_cq_destroy(cq), 1, "dpa: flexio_cq_destroy: work queues complete here");
	SAYS(flexio_rq_set_err_state((void *)sq), 1,
		"dpa: flexio_rq_set_err_state: Wq: it does not exist any more");
	IS(flexio_rq_set_err_state(rq), 0);
	IS(flexio_rq_destroy(rq), 0);
	SAYS(flexio_rq_destroy(rq), 1, "dpa: flexio_rq_destroy: Wq: it does not exist any more");
	SAYS(flexio_rq_destroy((void *)cq), 1,
		"dpa: flexio_rq_destroy: Wq: 0xd9a040000000404 is no such object");
	IS(flexio_cq_destroy(cq), 0);

	/* Command queues: tasks by several threads, while they run. */
	IS(flexio_msg_stream_create(process, &(struct flexio_msg_stream_attr){ .data_bsize = 2048,
		.sync_mode = 1 }, stdout, NULL, &stream), 0);
	SAYS(flexio_cmdq_create(process, &(struct flexio_cmdq_attr){ .workers = 0,
		.batch_size = 1 }, &tasks), 1, "dpa: flexio_cmdq_create: 0 workers, batches of 1");
	SAYS(flexio_cmdq_create(process, &(struct flexio_cmdq_attr){ .workers = 257,
		.batch_size = 1 }, &tasks), 1,
		"dpa: flexio_cmdq_create: 257 workers, batches of 1");
	SAYS(flexio_cmdq_create(process, &(struct flexio_cmdq_attr){ .workers = 2,
		.batch_size = 0 }, &tasks), 1, "dpa: flexio_cmdq_create: 2 workers, batches of 0");
	IS(flexio_cmdq_create(process, &(struct flexio_cmdq_attr){ .workers = 2, .batch_size = 1 },
		&tasks), 0);
	IS(flexio_cmdq_is_empty(tasks), 1);
	IS(flexio_func_register(calls, "task", &task), 0);
	IS(flexio_cmdq_task_add(tasks, task, 30), 0);
	IS(flexio_cmdq_task_add(tasks, task, 31), 0);
	SAYS(flexio_cmdq_task_add(tasks, NULL, 30), 1, "dpa: flexio_cmdq_task_add: no function");
	usleep(20000);
	IS(flexio_cmdq_is_empty(tasks), 0);
	IS(flexio_cmdq_state_running(tasks), 0);
	UNTIL(flexio_cmdq_is_empty(tasks), 1);
	SAYS(flexio_msg_stream_flush(stream), 0, "task 30\ntask 31");
	IS(flexio_cmdq_task_add(tasks, task, 32), 0);
	UNTIL(flexio_cmdq_is_empty(tasks), 1);
	SAYS(flexio_msg_stream_flush(stream), 0, "task 32");
	IS(flexio_cmdq_create(process, &(struct flexio_cmdq_attr){ .workers = 1, .batch_size = 1,
		.state = 1 }, &more), 0);
	IS(flexio_cmdq_task_add(more, task, 33), 0);
	UNTIL(flexio_cmdq_is_empty(more), 1);
	SAYS(flexio_msg_stream_flush(stream), 0, "task 33");
	IS(flexio_cmdq_destroy(tasks), 0);
	SAYS(flexio_cmdq_task_add(tasks, task, 34), 1,
		"dpa: flexio_cmdq_task_add: Tasks: it does not exist any more");
	SAYS(flexio_cmdq_destroy(tasks), 1,
		"dpa: flexio_cmdq_destroy: Tasks: it does not exist any more");

	/* Two handlers wait for a word. One is destroyed meanwhile, and the other goes on. */
	IS(flexio_buf_dev_memset(process, 0, 96, state), 0);
	event_handler_attr = (struct flexio_event_handler_attr){ .host_stub_func = handle };
	IS(flexio_event_handler_create(process, &event_handler_attr, &handler), 0);
	IS(flexio_event_handler_create(process, &event_handler_attr, &other), 0);
	id = flexio_event_handler_get_id(handler);
	IS(flexio_event_handler_run(handler, state), 0);
	IS(flexio_event_handler_run(other, state + 48), 0);
	POKE(state + 16, 6, 1);
	POKE(state + 64, 6, 1);
	IS(CALL(process, wake, id, 2), 0);
	UNTIL(WORD(state), 1);
	UNTIL(WORD(state + 48), 1);
	IS(flexio_event_handler_destroy(handler), 0);
	POKE(state + 64, 1, 1);
	UNTIL(WORD(state + 56), 1);
	IS(flexio_event_handler_destroy(other), 0);
	SAYS(CALL(process, end_process, 200), 0,
		"dpa: process 1: end_process ends it with code 200\ndpa: flexio_process_call: the "
			"process ended in or before end_process\nstatus 3");
	IS(flexio_cmdq_is_empty(more), 1);
	SAYS(flexio_cmdq_task_add(more, task, 34), 3,
		"dpa: flexio_cmdq_task_add: the process has ended");
	SAYS(flexio_event_handler_run(handler, 0), 1,
		"dpa: flexio_event_handler_run: Thread: it does not exist any more");
	IS(flexio_process_destroy(process), 0);
	SAID("");
}

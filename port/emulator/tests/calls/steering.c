/* Rules lead frames to queues. */
static void steering_calls(void)
{
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *domain;
	struct flexio_process *process;
	uint64_t ring, sends, receives, record, cqn, sqn;
	struct flexio_cq *cq;
	struct flexio_sq *sq;
	struct flexio_wq_attr wq_attr;
	struct flexio_rq *first, *second, *third;
	uint8_t *frame, *mask, *value;
	struct ibv_mr *region;
	struct mlx5dv_dr_domain *rx, *tx;
	struct mlx5dv_dr_table *table, *next, *leaving;
	struct mlx5dv_dr_matcher *all, *receiver, *sender, *type, *tcp, *udp, *life, *address,
		*port;
	struct mlx5dv_devx_obj *tir;
	struct mlx5dv_dr_action *to_first, *to_second, *to_third, *to_gone, *to_next, *to_port;
	struct mlx5dv_dr_rule *last, *from_mac, *to_table, *by_udp;

	/* Rules lead frames by their bytes, to three receive queues with one completion queue. */
	list = ibv_get_device_list(NULL);
	context = ibv_open_device(*list);
	domain = ibv_alloc_pd(context);
	IS(flexio_process_create(context, calls, NULL, &process), 0);
	ring = filled(process, 2048, 0xff);
	IS(flexio_buf_dev_alloc(process, 64, &sends), 0);
	receives = filled(process, 512, 0);
	record = filled(process, 32, 0);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 5,
		.element_type = 8, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 0);
	cqn = flexio_cq_get_cq_num(cq);
	IS(flexio_sq_create(process, NULL, cqn,
		&(struct flexio_wq_attr){ .wq_ring_qmem.daddr = sends }, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	wq_attr = (struct flexio_wq_attr){ .log_wq_depth = 5, .wq_ring_qmem.daddr = receives,
		.wq_dbr_qmem.daddr = record + 16 };
	IS(flexio_rq_create(process, NULL, cqn, &wq_attr, &first), 0);
	IS(flexio_rq_create(process, NULL, cqn, &wq_attr, &second), 0);
	IS(flexio_rq_create(process, NULL, cqn, &wq_attr, &third), 0);
	frame = calloc(1, 64);
	region = ibv_reg_mr(domain, frame, 64, 1);
	BYTES((uint8_t *)region + 36, "25100000");
	POKE(sends, 10, 4, sqn, 3, 3, 1, 0, 8, 0, 16, 42, 4, 0x1025, 4, (uint64_t)frame, 8);
	POKE(receives, 64, 4, 0x1025, 4, (uint64_t)frame, 8);
	memcpy((void *)(receives + 16), (void *)receives, 16);
	memcpy((void *)(receives + 32), (void *)receives, 32);
	memcpy((void *)(receives + 64), (void *)receives, 64);
	POKE(record + 16, 8, 4);

	/* What is refused. */
	SAYS(mlx5dv_dr_domain_create(NULL, 0), 0,
		"dpa: mlx5dv_dr_domain_create: a domain of type 0");
	SAYS(mlx5dv_dr_domain_create(context, 3), 0,
		"dpa: mlx5dv_dr_domain_create: a domain of type 3");
	SAYS(mlx5dv_dr_table_create(NULL, 0), 0, "dpa: mlx5dv_dr_table_create: a null pointer");
	rx = mlx5dv_dr_domain_create(context, 0);
	table = mlx5dv_dr_table_create(rx, 0);
	next = mlx5dv_dr_table_create(rx, 1);
	mask = calloc(1, 80);
	value = calloc(1, 80);
	POKE(mask, 64, 1);
	POKE(value, 64, 1);
	SAYS(mlx5dv_dr_matcher_create(table, 0, 2, (void *)mask), 0,
		"dpa: mlx5dv_dr_matcher_create: criteria 0x2: only outer headers are emulated");
	SAYS(mlx5dv_dr_matcher_create(table, 0, 1, NULL), 0,
		"dpa: mlx5dv_dr_matcher_create: a null pointer");
	all = mlx5dv_dr_matcher_create(table, 5, 0, (void *)mask);
	SAYS(mlx5dv_dr_action_create_dest_devx_tir((void *)first), 0,
		"dpa: mlx5dv_dr_action_create_dest_devx_tir: Tir: 0xd9a050000000101 is no such "
			"object");
	tir = flexio_rq_get_tir(first);
	to_first = mlx5dv_dr_action_create_dest_devx_tir(tir);
	tir = flexio_rq_get_tir(second);
	to_second = mlx5dv_dr_action_create_dest_devx_tir(tir);
	tir = flexio_rq_get_tir(third);
	to_third = mlx5dv_dr_action_create_dest_devx_tir(tir);
	to_gone = mlx5dv_dr_action_create_dest_devx_tir((void *)((uint8_t *)tir + 1));
	to_next = mlx5dv_dr_action_create_dest_table(next);
	SAYS(mlx5dv_dr_action_create_dest_table(NULL), 0,
		"dpa: mlx5dv_dr_action_create_dest_table: a null pointer");
	SAYS(mlx5dv_dr_rule_create(all, (void *)value, 2, &to_first), 0,
		"dpa: mlx5dv_dr_rule_create: 2 actions: one is emulated");
	SAYS(mlx5dv_dr_rule_create(all, (void *)value, 1, &to_gone), 0,
		"dpa: mlx5dv_dr_rule_create: Tir: it does not exist any more");
	SAYS(mlx5dv_dr_rule_create(NULL, (void *)value, 1, &to_first), 0,
		"dpa: mlx5dv_dr_rule_create: a null pointer");
	IS(mlx5dv_dr_rule_destroy(NULL), 0);

	/* A frame waits for two rules that receive, or for one that leads it. All others go to the
	 * first. */
	POKE(frame, 0x000102030405, 6, 0x060708090a0b, 6, 0x0c0d, 2, 0, 40);
	CALL(process, ring, 1, sqn);
	usleep(20000);
	BYTES(ring, "ffffffff");
	last = mlx5dv_dr_rule_create(all, (void *)value, 1, &to_first);
	COMPLETION(ring, "00000000 00000000 00000000 0000002a 00000000 00000000 00000101 00000020");

	/* By the last two bytes of the receiver's address; by half a byte of the sender's. */
	POKE(mask + 20, 0xffff, 2);
	receiver = mlx5dv_dr_matcher_create(table, 3, 1, (void *)mask);
	POKE(value + 20, 0x1415, 2);
	mlx5dv_dr_rule_create(receiver, (void *)value, 1, &to_second);
	POKE(mask + 16, 0, 8);
	POKE(value + 16, 0, 8);
	POKE(mask + 8, 0x0f, 1);
	sender = mlx5dv_dr_matcher_create(table, 2, 1, (void *)mask);
	POKE(value + 8, 0x5, 1);
	from_mac = mlx5dv_dr_rule_create(sender, (void *)value, 1, &to_third);
	POKE(frame + 4, 0x1415, 2);
	CALL(process, ring, 2, sqn);
	COMPLETION(ring + 64,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000102 00000020");
	POKE(frame + 6, 0x75, 1);
	CALL(process, ring, 3, sqn);
	COMPLETION(ring + 128,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000103 00000020");
	POKE(frame + 4, 0x1416, 2);
	POKE(frame + 6, 0x57, 1);
	CALL(process, ring, 4, sqn);
	COMPLETION(ring + 192,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000101 00010020");

	/* By type; by protocol, time to live, addresses and ports, behind a header of 20 or 24
	 * bytes. */
	POKE(mask + 8, 0, 1);
	POKE(value + 8, 0, 1);
	POKE(mask + 14, 0xffff, 2);
	type = mlx5dv_dr_matcher_create(table, 1, 1, (void *)mask);
	POKE(value + 14, 0x86dd, 2);
	mlx5dv_dr_rule_create(type, (void *)value, 1, &to_second);
	POKE(value + 14, 0x0800, 2);
	to_table = mlx5dv_dr_rule_create(type, (void *)value, 1, &to_next);
	POKE(mask + 14, 0, 2);
	POKE(value + 14, 0, 2);
	POKE(mask + 28, 0xffffffff, 4);
	tcp = mlx5dv_dr_matcher_create(next, 4, 1, (void *)mask);
	POKE(value + 28, 0x00150016, 4);
	mlx5dv_dr_rule_create(tcp, (void *)value, 1, &to_second);
	POKE(mask + 28, 0, 4);
	POKE(value + 28, 0, 4);
	POKE(mask + 36, 0xffffffff, 4);
	udp = mlx5dv_dr_matcher_create(next, 3, 1, (void *)mask);
	POKE(value + 36, 0x00150016, 4);
	by_udp = mlx5dv_dr_rule_create(udp, (void *)value, 1, &to_third);
	POKE(mask + 36, 0, 4);
	POKE(value + 36, 0, 4);
	POKE(mask + 35, 0xff, 1);
	POKE(mask + 24, 0xff, 1);
	life = mlx5dv_dr_matcher_create(next, 2, 1, (void *)mask);
	POKE(value + 35, 9, 1);
	POKE(value + 24, 1, 1);
	mlx5dv_dr_rule_create(life, (void *)value, 1, &to_first);
	POKE(mask + 35, 0, 1);
	POKE(value + 35, 0, 1);
	POKE(mask + 24, 0, 1);
	POKE(value + 24, 0, 1);
	POKE(mask + 52, 0x000000ff, 4);
	POKE(mask + 68, 0x0000ff00, 4);
	address = mlx5dv_dr_matcher_create(next, 1, 1, (void *)mask);
	POKE(value + 52, 0x00000044, 4);
	POKE(value + 68, 0x00005500, 4);
	mlx5dv_dr_rule_create(address, (void *)value, 1, &to_second);
	POKE(frame + 12, 0x86dd, 2);
	CALL(process, ring, 5, sqn);
	COMPLETION(ring + 256,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000102 00010020");
	POKE(frame + 12, 0x0800, 2, 0x45, 1, 0, 7, 64, 1, 6, 1, 0, 2, 0x11223345, 4, 0x11225566, 4,
		0x00150016, 4);
	CALL(process, ring, 6, sqn);
	COMPLETION(ring + 320,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000102 00020020");
	POKE(frame + 23, 17, 1);
	CALL(process, ring, 7, sqn);
	COMPLETION(ring + 384,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000103 00010020");
	POKE(frame + 14, 0x46, 1);
	CALL(process, ring, 8, sqn);
	POKE(frame + 34, 0x0, 4, 0x00150016, 4);
	CALL(process, ring, 9, sqn);
	COMPLETION(ring + 448,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000103 00020020");
	POKE(frame + 14, 0x45, 1);
	POKE(frame + 22, 9, 1, 1, 1);
	CALL(process, ring, 10, sqn);
	COMPLETION(ring + 512,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000101 00020020");
	POKE(frame + 22, 8, 1, 1, 1);
	CALL(process, ring, 11, sqn);
	POKE(frame + 29, 0x44, 1);
	CALL(process, ring, 12, sqn);
	COMPLETION(ring + 576,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000102 00030020");
	POKE(frame + 32, 0x56, 1);
	CALL(process, ring, 13, sqn);
	CALL(process, digits, 0);
	IS(mlx5dv_dr_rule_destroy(to_table), 0);
	CALL(process, ring, 14, sqn);
	COMPLETION(ring + 640,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000101 00030020");

	/* What leaves needs a rule, once there is one. The queues are free again without rules. */
	tx = mlx5dv_dr_domain_create(context, 2);
	leaving = mlx5dv_dr_table_create(tx, 0);
	POKE(mask + 52, 0, 4);
	POKE(mask + 68, 0, 4);
	POKE(mask + 16, 0xff, 1);
	port = mlx5dv_dr_matcher_create(leaving, 0, 1, (void *)mask);
	POKE(value + 16, 0x7e, 1);
	to_port = mlx5dv_dr_action_create_dest_vport(tx, 0);
	mlx5dv_dr_rule_create(port, (void *)value, 1, &to_port);
	CALL(process, ring, 15, sqn);
	POKE(frame, 0x7e, 1);
	CALL(process, ring, 16, sqn);
	COMPLETION(ring + 704,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000101 00040020");
	BYTES(frame, "7e010203 14165707 08090a0b 08004500");
	SAYS(flexio_rq_destroy(third), 1, "dpa: flexio_rq_destroy: steering rules lead here");
	IS(mlx5dv_dr_rule_destroy(from_mac), 0);
	SAYS(flexio_rq_destroy(third), 1, "dpa: flexio_rq_destroy: steering rules lead here");
	IS(mlx5dv_dr_rule_destroy(by_udp), 0);
	IS(flexio_rq_destroy(third), 0);
	IS(mlx5dv_dr_rule_destroy(last), 0);
	CALL(process, ring, 17, sqn);
	POKE(frame + 4, 0x1415, 2);
	CALL(process, ring, 18, sqn);
	COMPLETION(ring + 768,
		"00000000 00000000 00000000 0000002a 00000000 00000000 00000102 00040020");
	IS(mlx5dv_dr_action_destroy(to_first), 0);
	IS(mlx5dv_dr_matcher_destroy(all), 0);
	IS(mlx5dv_dr_table_destroy(table), 0);
	IS(mlx5dv_dr_domain_destroy(rx), 0);
	IS(flexio_process_destroy(process), 0);
	SAID("");
}

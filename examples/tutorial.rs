//! A walk through the host API, in the order of an MPI tutorial.
//!
//! ```text
//! cargo run --release --example tutorial
//! ```
//!
//! One endpoint receives, and threads run its NIC. Other processes are threads here, each with a
//! sender.

use std::error::Error;
use std::thread;

use dpamatch::endpoint::{Communicator, Drive, Endpoint, EndpointConfig, RecvError};
use dpamatch::{Hints, NicConfig, Rank, SourceSel, Tag, TagSel};

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let config = EndpointConfig {
        drive: Drive::threads(),
        ..EndpointConfig::default()
    };
    // MPI_Init, and MPI_Comm_dup of MPI_COMM_WORLD.
    let mut endpoint = Endpoint::new(&config)?;
    let world = endpoint.create_comm(Hints::default())?;
    println!(
        "communicator {:?} is matched on the NIC: {}",
        world.id(),
        world.is_offloaded()
    );

    ping_pong()?;
    wildcards(&mut endpoint, &world)?;
    unexpected_and_probe(&mut endpoint, &world)?;
    rendezvous(&mut endpoint, &world)?;
    truncation(&mut endpoint, &world)?;
    cancel(&mut endpoint, &world)?;
    persistent(&mut endpoint, &world)?;

    // MPI_Comm_free; dropping the endpoint is MPI_Finalize.
    endpoint.free_comm(world)?;
    let (counts, _) = endpoint.counts();
    println!(
        "\nthe NIC matched {} messages in {} blocks",
        counts.handlers.messages, counts.boundary.blocks
    );
    Ok(())
}

/// Two processes, each with its own endpoint, send a number back and forth and increment it.
fn ping_pong() -> Outcome {
    println!("\n-- ping-pong: MPI_Send, MPI_Recv");
    const ROUNDS: u32 = 1000;
    let config = EndpointConfig {
        nic: NicConfig {
            handlers: 4,
            ..NicConfig::default()
        },
        ..Default::default()
    };
    let (rank_0, rank_1, ball) = (Rank::new(0)?, Rank::new(1)?, Tag::new(1)?);

    let mut here = Endpoint::new(&config)?;
    let here_world = here.create_comm(Hints::default())?;
    let mut to_here = here.sender(&here_world, rank_1);
    let mut there = Endpoint::new(&config)?;
    let there_world = there.create_comm(Hints::default())?;
    let mut to_there = there.sender(&there_world, rank_0);

    let other = thread::spawn(move || -> Result<(), RecvError> {
        let mut buffer = vec![0; 4];
        for _ in 0..ROUNDS {
            buffer = there.recv(&there_world, rank_0, ball, buffer)?.buffer;
            let count = number(&buffer) + 1;
            // The answer. The other side is gone only if it failed.
            to_here
                .send(ball, &count.to_le_bytes())
                .map_err(|_| RecvError::Stopped)?;
        }
        Ok(())
    });
    let mut count = 0u32;
    let mut buffer = vec![0; 4];
    for _ in 0..ROUNDS {
        to_there.send(ball, &count.to_le_bytes())?;
        // One buffer circulates: posted, filled, returned.
        buffer = here.recv(&here_world, rank_1, ball, buffer)?.buffer;
        count = number(&buffer);
    }
    other.join().map_err(|_| "the other process panicked")??;
    println!("after {ROUNDS} rounds the ball says {count}");
    Ok(())
}

fn number(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}

/// Receives with wildcards: the status has the message's source and tag.
fn wildcards(endpoint: &mut Endpoint, world: &Communicator) -> Outcome {
    println!("\n-- wildcards: MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_Waitall");
    let mut requests = Vec::new();
    for _ in 0..3 {
        requests.push(endpoint.post_recv(world, SourceSel::Any, TagSel::Any, vec![0; 32])?);
    }
    let workers: Vec<_> = (1..=3)
        .map(|number| {
            let mut sender = endpoint.sender(world, Rank::new(number)?);
            let tag = Tag::new(10 * number)?;
            Ok(thread::spawn(move || {
                sender.send(tag, format!("worker {number} is done").as_bytes())
            }))
        })
        .collect::<Result<_, Box<dyn Error>>>()?;
    for received in endpoint.wait_all(requests) {
        let received = received?;
        let status = received.status;
        let text = String::from_utf8_lossy(received.bytes());
        println!("from {:?} with {:?}: {text}", status.source, status.tag);
    }
    for worker in workers {
        worker.join().map_err(|_| "a worker panicked")??;
    }
    Ok(())
}

/// A message that comes before its receive waits in the unexpected queue, where a probe sees its
/// size.
fn unexpected_and_probe(endpoint: &mut Endpoint, world: &Communicator) -> Outcome {
    println!("\n-- unexpected messages: MPI_Probe, MPI_Mprobe, MPI_Mrecv");
    let (five, tag) = (Rank::new(5)?, Tag::new(50)?);
    let mut sender = endpoint.sender(world, five);
    sender.send(tag, b"nobody asked for this")?;
    sender.send(tag, b"nor for this")?;

    let status = endpoint.probe(world, five, TagSel::Any)?;
    println!("a message of {} bytes waits", status.bytes);
    let received = endpoint.recv(world, five, status.tag, vec![0; status.bytes])?;
    println!("received: {}", String::from_utf8_lossy(received.bytes()));

    // A matched probe takes the message: no other receive can match it now.
    let message = endpoint.mprobe(world, SourceSel::Any, TagSel::Any)?;
    let bytes = message.status().bytes;
    let received = endpoint.mrecv(message, vec![0; bytes])?;
    println!(
        "taken by the matched probe: {}",
        String::from_utf8_lossy(received.bytes())
    );
    Ok(())
}

/// Long messages are not copied into the NIC: it reads the sender's buffer once a receive has
/// matched.
fn rendezvous(endpoint: &mut Endpoint, world: &Communicator) -> Outcome {
    println!("\n-- rendezvous: MPI_Isend, MPI_Issend, MPI_Wait");
    let mut sender = endpoint.sender(world, Rank::new(6)?);
    let (big, small) = (Tag::new(60)?, Tag::new(61)?);
    println!("up to {} bytes are sent eagerly", sender.eager_limit());

    // The buffers move into the sends and come back through their requests.
    let megabyte = sender
        .isend(big, vec![6; 1 << 20])
        .map_err(|(error, _)| error)?;
    let mut synchronous = sender
        .issend(small, vec![7; 4])
        .map_err(|(error, _)| error)?;
    if synchronous.test().is_some() {
        return Err("a synchronous send ended before its receive was posted".into());
    }
    let received = endpoint.recv(world, SourceSel::Any, big, vec![0; 1 << 20])?;
    println!(
        "received {} bytes, all 6: {}",
        received.status.bytes,
        received.bytes().iter().all(|&b| b == 6)
    );
    let back = megabyte.wait().map_err(|(error, _)| error)?;
    println!("the sender has its {} bytes back", back.len());
    endpoint.recv(world, SourceSel::Any, small, vec![0; 4])?;
    let back = synchronous.wait().map_err(|(error, _)| error)?;
    println!("the synchronous send has ended, too: {back:?}");
    Ok(())
}

/// A message longer than the buffer is truncated, and the receive ends with an error.
fn truncation(endpoint: &mut Endpoint, world: &Communicator) -> Outcome {
    println!("\n-- truncation: MPI_ERR_TRUNCATE");
    let tag = Tag::new(70)?;
    endpoint
        .sender(world, Rank::new(7)?)
        .send(tag, b"too long a message")?;
    match endpoint.recv(world, SourceSel::Any, tag, vec![0; 8]) {
        Err(RecvError::Truncated { received, sent }) => {
            println!(
                "{sent} bytes were sent; the buffer got {:?}",
                String::from_utf8_lossy(received.bytes())
            );
            Ok(())
        }
        Ok(_) => Err("18 bytes do not fit into 8".into()),
        Err(error) => Err(error.into()),
    }
}

/// Cancelling a receive.
fn cancel(endpoint: &mut Endpoint, world: &Communicator) -> Outcome {
    println!("\n-- cancel: MPI_Cancel, MPI_Test_cancelled");
    let request = endpoint.post_recv(world, Rank::new(8)?, TagSel::Any, vec![0; 128])?;
    endpoint.cancel(&request)?;
    match endpoint.wait(request) {
        Err(RecvError::Cancelled(buffer)) => {
            println!("cancelled; the buffer of {} bytes is back", buffer.len())
        }
        Ok(received) => println!("too late, this had come: {:?}", received.bytes()),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// A persistent receive, started repeatedly with one buffer.
fn persistent(endpoint: &mut Endpoint, world: &Communicator) -> Outcome {
    println!("\n-- persistent receives: MPI_Recv_init, MPI_Start");
    let (nine, tag) = (Rank::new(9)?, Tag::new(90)?);
    let mut sender = endpoint.sender(world, nine);
    let mut receive = endpoint.recv_init(world, nine, tag, vec![0; 1])?;
    for round in 0..3 {
        receive.start(endpoint)?;
        sender.send(tag, &[round])?;
        let status = receive.wait(endpoint).ok_or("it was started")??;
        println!(
            "round {round}: {} byte, {:?}",
            status.bytes,
            receive.buffer()
        );
    }
    Ok(())
}

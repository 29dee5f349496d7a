//! RabbitMQ.

use onrush_testkit::{RabbitMq, need};
use std::net::{Ipv4Addr, TcpStream};

fn runs(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn quorum_queue_outlives_a_stop_and_a_kill_and_nothing_is_left_behind() {
    let Some(mut rabbitmq) = need(RabbitMq::start()) else { return };
    let declare = "rabbit_amqqueue:declare(rabbit_misc:r(<<\"/\">>, queue, <<\"wake-ups\">>), true, false, \
                   [{<<\"x-queue-type\">>, longstr, <<\"quorum\">>}], none, <<\"testkit\">>).";
    assert!(rabbitmq.ctl(&["eval", declare]).unwrap().starts_with("{new,"));
    let queues = ["list_queues", "--no-table-headers", "name", "type", "state"];
    assert_eq!(rabbitmq.ctl(&queues).unwrap(), "wake-ups\tquorum\trunning");

    rabbitmq.stop();
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, rabbitmq.port())).is_err());
    rabbitmq.restart().unwrap();
    assert_eq!(rabbitmq.ctl(&queues).unwrap(), "wake-ups\tquorum\trunning");

    rabbitmq.kill();
    rabbitmq.restart().unwrap();
    assert_eq!(rabbitmq.ctl(&queues).unwrap(), "wake-ups\tquorum\trunning");

    let (pids, folder) = (rabbitmq.pids(), rabbitmq.folder().to_owned());
    assert!(pids.into_iter().all(runs) && folder.exists());
    drop(rabbitmq);
    assert!(!pids.into_iter().any(runs));
    assert!(!folder.exists());
}

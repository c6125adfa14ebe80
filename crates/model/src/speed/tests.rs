//! Lists of speeds, and times on nodes that have them.

use super::*;

fn machine(list: &str, nodes: u32) -> MachineSpeeds {
    list.parse::<SpeedList>()
        .unwrap()
        .of_machine(nodes)
        .unwrap()
}

fn range(first: u32, len: u32) -> NodeRange {
    NodeRange { first, len }
}

#[test]
fn list_round_trips_and_bad_lists_are_rejected() {
    for text in ["1", "64*1,64*1.5", "2*0.5,2", "3*1,1*1000,0.001"] {
        assert_eq!(text.parse::<SpeedList>().unwrap().to_string(), text);
    }
    for text in [
        "",
        ",",
        "1,2",
        "1,2*2",
        "0*1",
        "-1*2",
        "2*0",
        "2*NaN",
        "inf",
        "2*1001",
        "x*1",
        "2*",
        "*2",
        "2*1,",
        "1.5*2",
        "2*0.0009",
        "4294967296*1",
    ] {
        assert!(text.parse::<SpeedList>().is_err(), "{text}");
    }
}

#[test]
fn counts_must_be_those_of_the_machine() {
    let list: SpeedList = "2*1,3*2".parse().unwrap();
    assert!(list.of_machine(5).is_ok());
    for nodes in [4, 6] {
        assert!(list.of_machine(nodes).is_err(), "{nodes}");
    }
    let with_rest: SpeedList = "2*1,3*2,4".parse().unwrap();
    assert_eq!(with_rest.of_machine(6).unwrap().capacity(6), 12.0);
    let error = with_rest.of_machine(5).unwrap_err();
    let text = "speeds of 5 nodes and a rest, but the machine has 5";
    assert_eq!(error.to_string(), text);
    let many: SpeedList = "4294967295*1,4294967295*1".parse().unwrap();
    assert!(many.of_machine(u32::MAX - 1).is_err());
}

#[test]
fn speeds_of_nodes_and_ranges() {
    let speeds = machine("2*1,1*1,3*2,0.5", 8);
    let all: Vec<_> = speeds
        .ranges(9)
        .map(|(range, speed)| (range, speed.0))
        .collect();
    let expected = [
        (range(0, 3), 1.0),
        (range(3, 3), 2.0),
        (range(6, 2), 0.5),
        (range(8, 1), 1.0),
    ];
    assert_eq!(all, expected);
    let each: Vec<f64> = (0..9).map(|node| speeds.of(NodeId(node)).0).collect();
    assert_eq!(each, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 0.5, 0.5, 1.0]);
    let slowest = |nodes: &[NodeRange]| speeds.slowest_of(nodes).0;
    assert_eq!(slowest(&[range(3, 1), range(5, 1)]), 2.0);
    assert_eq!(slowest(&[range(2, 2)]), 1.0);
    assert_eq!(slowest(&[range(3, 2), range(7, 1)]), 0.5);
    assert_eq!(slowest(&[]), 1.0);
    let fastest = [1, 3, 4, 6, 7, 8, 20].map(|procs| speeds.slowest_of_fastest(procs, 8).0);
    assert_eq!(fastest, [2.0, 2.0, 1.0, 1.0, 0.5, 0.5, 0.5]);
    let relative = speeds.relative_to_slowest(8);
    assert_eq!(
        (relative.of(NodeId(0)).0, relative.of(NodeId(3)).0),
        (2.0, 4.0)
    );
    assert_eq!(relative.of(NodeId(7)).0, 1.0);
    // 4, 2 and 8 s.
    let nodes = [range(2, 2), range(6, 1)];
    let mean = speeds.mean_time_for(Span::from_secs(4), &nodes);
    assert_eq!(mean, Span::from_micros(4_666_667));
}

#[test]
fn alike_nodes_have_no_relative_speeds() {
    for list in ["1", "4*2,2", "3*0.7,5*0.7"] {
        assert!(
            machine(list, 8).relative_to_slowest(8).is_default(),
            "{list}"
        );
    }
    let alike = MachineSpeeds::default();
    assert_eq!((alike.capacity(8), alike.slowest(8).0), (8.0, 1.0));
    assert_eq!(alike.slowest_of_fastest(3, 8).0, 1.0);
}

#[test]
fn time_on_a_node_is_that_on_the_reference_node_over_its_speed() {
    let speed = NodeSpeed::new(1.5).unwrap();
    assert_eq!(speed.time_for(Span::from_secs(3600)), Span::from_secs(2400));
    assert_eq!(speed.time_for(Span::ZERO), Span::ZERO);
    let fast = NodeSpeed::new(1000.0).unwrap();
    assert_eq!(fast.time_for(Span::TICK), Span::TICK);
    let same = NodeSpeed::default().time_for(Span::from_micros(i64::MAX - 1));
    assert_eq!(same, Span::from_micros(i64::MAX - 1));
}

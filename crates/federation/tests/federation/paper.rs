//! Tests of the paper's form: its worked examples, and its failures.

use tollgate_federation::paper::PaperSite;
use tollgate_federation::{SiteEffect, SiteId, SiteMessage};
use tollgate_model::{Instant, Span};

use crate::network::{MessageFaults, SiteNetwork, TIMING};

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

/// Creates sites of which the first begins its period at once, the others half a period later.
fn sites(proxies: &[u32]) -> SiteNetwork<PaperSite> {
    let count = proxies.len() as u32;
    let sites = (0..count).zip(proxies).map(|(id, &proxies)| {
        let half = Span::from_micros(TIMING.period.as_micros() / 2);
        let first = Instant::ZERO + if id == 0 { Span::ZERO } else { half };
        PaperSite::new(SiteId(id), count, TIMING, proxies, first)
    });
    SiteNetwork::new(sites.collect(), MessageFaults::default(), 1)
}

/// Returns the number of proxies of each site after the first round.
fn after_a_round(network: &mut SiteNetwork<PaperSite>, worths: &[f64]) -> Vec<u32> {
    network.measure(worths);
    network.run_until(Instant::ZERO + Span::from_secs(250));
    network.sites.iter().map(PaperSite::proxies).collect()
}

#[test]
fn figure_3_moves_one_from_c_to_a() {
    let worths = [100.0, 50.0, -50.0, 20.0];
    let mut network = sites(&[3, 3, 3, 3]);
    assert_eq!(after_a_round(&mut network, &worths), [4, 3, 2, 3]);
    // 3 proposals, 3 answers, a request, a proxy.
    assert_eq!(network.messages(), 8);
    let mut refused = sites(&[3, 3, 1, 3]);
    assert_eq!(after_a_round(&mut refused, &worths), [3, 3, 1, 3]);
}

/// In the figure as drawn, B sends A no answer and C proposes first. By the rules, B and C both
/// send a NACK to A and both begin rounds. The result is the same.
#[test]
fn figure_4_moves_one_from_d_to_b() {
    let worths = [10.0, 100.0, 50.0, 5.0];
    let mut network = sites(&[3, 3, 3, 3]);
    assert_eq!(after_a_round(&mut network, &worths), [3, 4, 3, 2]);
    let by = |site: usize, is_counted: fn(&SiteMessage) -> bool| {
        let of_site = network
            .sent
            .iter()
            .filter(|sent| sent.1 == SiteId(site as u32));
        of_site.filter(|sent| is_counted(&sent.3)).count()
    };
    let proposals = |message: &SiteMessage| matches!(message, SiteMessage::Propose { .. });
    let requests = |message: &SiteMessage| matches!(message, SiteMessage::Request { .. });
    assert_eq!([A, B, C, 3].map(|site| by(site, proposals)), [3, 3, 3, 0]);
    assert_eq!([A, B, C, 3].map(|site| by(site, requests)), [0, 1, 0, 0]);
    // Three rounds of 3 proposals and 3 answers, a request, a proxy.
    assert_eq!(network.messages(), 20);
}

/// Delivers the messages of Figure 4 as drawn, one by one: B sends A no answer.
#[test]
fn figure_4_as_drawn_ends_alike() {
    use tollgate_federation::SiteEvent;
    let mut network = sites(&[3, 3, 3, 3]);
    network.measure(&[10.0, 100.0, 50.0, 5.0]);
    let mut handle = |site: usize, event: SiteEvent| {
        let mut effects = Vec::new();
        network.sites[site].handle(Instant::ZERO, event, &mut effects);
        let sent = effects.into_iter().filter_map(|effect| match effect {
            SiteEffect::Send { to, message } => Some((to.0 as usize, message)),
            SiteEffect::Write { .. } | SiteEffect::Delete | SiteEffect::Add => None,
        });
        sent.collect::<Vec<_>>()
    };
    let from = |site: usize, message| SiteEvent::Received {
        from: SiteId(site as u32),
        message,
    };
    let proposals_of_a = handle(A, SiteEvent::Due);
    let to = |sent: &[(usize, SiteMessage)], site| {
        let found = sent.iter().find(|(to, _)| *to == site);
        found.expect("it was sent").1
    };
    // Only C receives A's proposal in time. C answers with a NACK, which ends A's round, and
    // proposes.
    let of_c = handle(C, from(A, to(&proposals_of_a, C)));
    assert_eq!(of_c.len(), 4);
    assert_eq!(handle(A, from(C, to(&of_c, A))), []);
    let of_b = handle(B, from(C, to(&of_c[1..], B)));
    assert_eq!(of_b.len(), 4);
    assert_eq!(handle(C, from(B, to(&of_b, C))), []);
    let mut request = Vec::new();
    for site in [A, C, 3] {
        let proposal = of_b[1..].iter().find(|(to, _)| *to == site);
        let answer = handle(site, from(B, proposal.expect("to all").1));
        request = handle(B, from(site, to(&answer, B)));
    }
    let given = handle(3, from(B, to(&request, 3)));
    assert_eq!(handle(B, from(3, to(&given, B))), []);
    let proxies: Vec<u32> = network.sites.iter().map(PaperSite::proxies).collect();
    assert_eq!(proxies, [3, 4, 3, 2]);
}

#[test]
fn equal_sites_refuse_each_other_and_move_nothing() {
    let mut network = sites(&[3, 3, 3]);
    assert_eq!(after_a_round(&mut network, &[7.0, 7.0, 1.0]), [3, 3, 3]);
    assert_eq!(network.messages(), 4);
}

#[test]
fn one_dead_site_blocks_the_paper_protocol() {
    let mut network = sites(&[6, 6, 6, 6]);
    network.down[3] = true;
    network.measure(&[4.0, 3.0, 2.0, 1.0]);
    network.run_until(Instant::ZERO + Span::from_secs(600 * 100));
    assert_eq!(network.count(SiteEffect::Delete), 0);
}

/// Runs 400 networks for ten rounds each with changing values. Returns the number of transfers that
/// began, and the change of the number of proxies.
fn transfers(faults: MessageFaults, seed: u64) -> (f64, f64) {
    let (mut given, mut change) = (0.0, 0.0);
    for experiment in 0..400 {
        let mut network = sites(&[50, 50, 50, 50]);
        network.faults = faults;
        network.random = rand_pcg::rand_core::SeedableRng::seed_from_u64(seed + experiment);
        for period in 1..=10 {
            let worths: Vec<f64> = (0..4).map(|_| network.unit()).collect();
            network.measure(&worths);
            network.run_until(Instant::ZERO + Span::from_secs(600 * period));
        }
        given += network.count(SiteEffect::Delete) as f64;
        change += network
            .sites
            .iter()
            .map(|s| f64::from(s.proxies()))
            .sum::<f64>()
            - 200.0;
    }
    (given, change)
}

/// Measured: over some thousand transfers a loss rate of 5 % loses about one proxy in twenty, and a
/// duplication rate of 5 % adds about as many.
#[test]
fn lost_message_loses_a_proxy_and_duplicate_adds_one() {
    let (given, change) = transfers(
        MessageFaults {
            loss: 0.05,
            duplication: 0.0,
        },
        1,
    );
    println!("loss: {given} transfers, {change} proxies");
    assert!(given > 300.0 && (-0.08..=-0.02).contains(&(change / given)));
    let (given, change) = transfers(
        MessageFaults {
            loss: 0.0,
            duplication: 0.05,
        },
        2,
    );
    println!("doubles: {given} transfers, {change} proxies");
    assert!(given > 300.0 && (0.01..=0.2).contains(&(change / given)));
}

/// Measured: some thousands of messages, where the durable form takes 35. Every site proposes in
/// every period, and a refusal starts the next round.
#[test]
fn sixteen_sites_take_hundreds_of_messages_a_decision() {
    let mut network = sites(&[50; 16]);
    for period in 1..=100 {
        let worths: Vec<f64> = (0..16).map(|_| network.unit()).collect();
        network.measure(&worths);
        network.run_until(Instant::ZERO + Span::from_secs(600 * period));
    }
    let decisions = network.sent.iter();
    let decisions = decisions.filter(|sent| matches!(sent.3, SiteMessage::Request { .. }));
    let mean = network.messages() as f64 / decisions.count() as f64;
    println!("{mean:.0} messages a decision");
    assert!(mean > 200.0, "{mean}");
}

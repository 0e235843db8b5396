use super::*;
use crate::analyze::by_hand::{counted, program, question, receive};
use crate::analyze::program::End;
use crate::analyze::stats::BlockStats;
use crate::analyze::{OrderChoice, Run};

fn numbers(figure: &crate::figure::Figure) -> Vec<String> {
    figure.csv().lines().skip(1).map(str::to_owned).collect()
}

fn figure(all: &[(&'static str, Figure)], name: &str) -> Vec<String> {
    let (_, figure) = all.iter().find(|figure| figure.0 == name).expect("a figure");
    numbers(figure)
}

/// Ten messages in blocks of four; two never had a candidate.
#[test]
fn paths_are_shares_of_the_messages() {
    let mut report = counted();
    let counts = BlockStats { handlers: 4, messages: 10, clean: 5, ..BlockStats::default() };
    report.application.blocks = vec![BlockStats { fast: 2, slow: 1, ..counts }];
    let shown = figure(&of_application(&report), "figure-paths");
    let paths = ["clean,4,50", "fast,4,20", "slow,4,10", "no candidate,4,20"];
    assert_eq!(shown, paths.map(|path| format!("Paths of the messages,{path}")));
}

/// Several applications appear in falling order of mean depth with the first number of bins, with a
/// mean. The published analyzer's depth comes from the trace.
#[test]
fn applications_stand_side_by_side() {
    let (mut first, mut second) = (counted(), counted());
    (first.name, second.name) = ("less".to_owned(), "more".to_owned());
    let depth = |report: &mut Report, bins: usize, sum, samples, most, never| {
        let tables = &mut report.application.bins[bins].tables;
        (tables.depth_sum, tables.samples, tables.depth_max) = (sum, samples, most);
        report.lifetime[bins].depth_average = never;
    };
    depth(&mut first, 0, 10, 10, 4, 7.0);
    depth(&mut first, 1, 9, 10, 3, 5.0);
    depth(&mut second, 0, 30, 10, 6, 9.0);
    depth(&mut second, 1, 1, 10, 2, 3.0);
    let all = over_applications(&[&first, &second]);
    assert_eq!(
        figure(&all, "figure-bins"),
        [
            "Mean depth,1 bin,more,3",
            "Mean depth,1 bin,less,1",
            "Mean depth,1 bin,mean,2",
            "Mean depth,64 bins,more,0.1",
            "Mean depth,64 bins,less,0.9",
            "Mean depth,64 bins,mean,0.5",
            "Maximum depth,1 bin,more,6",
            "Maximum depth,1 bin,less,4",
            "Maximum depth,1 bin,mean,5",
            "Maximum depth,64 bins,more,2",
            "Maximum depth,64 bins,less,3",
            "Maximum depth,64 bins,mean,2.5",
            "Mean depth if no receive is matched,1 bin,more,9",
            "Mean depth if no receive is matched,1 bin,less,7",
            "Mean depth if no receive is matched,1 bin,mean,8",
            "Mean depth if no receive is matched,64 bins,more,3",
            "Mean depth if no receive is matched,64 bins,less,5",
            "Mean depth if no receive is matched,64 bins,mean,4",
        ]
    );
    let names: Vec<_> = all.iter().map(|&(name, _)| name).collect();
    assert_eq!(names, ["figure-calls", "figure-bins", "figure-tables"]);
}

/// With more than 64 ranks, a row is the maximum of two ranks.
#[test]
fn many_ranks_share_rows() {
    let posts: Vec<_> = (0..3).map(|tag| receive(0, tag, End::Pending)).collect();
    let ranks = |rank: u32| program(rank, if rank == 3 { &posts } else { &[] });
    let heat = |processes: u32| {
        let run = Run::new((0..processes).map(ranks).collect(), Some(processes));
        let mut question = question(OrderChoice::PostsFirst);
        question.plan.handlers = Vec::new();
        let report = Report::make(&run, &question, |_| ()).expect("a report");
        let all = of_application(&report);
        let lines = figure(&all, "figure-ranks");
        let last = lines.iter().filter(|line| {
            line.starts_with("Posted") && line.contains(",100,") && !line.ends_with(",0")
        });
        (lines.len(), last.cloned().collect::<Vec<_>>())
    };
    assert_eq!(heat(64), (2 * 25 * 64, vec!["Posted receives,3,100,3".to_owned()]));
    assert_eq!(heat(65), (2 * 25 * 33, vec!["Posted receives,2-3,100,3".to_owned()]));
}

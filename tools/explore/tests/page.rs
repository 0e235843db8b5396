//! The page is one self-contained file with the data of both schedules.
//!
//! The test leaves it in cargo's test folder as `page.html`, for `tools/explore/story/browser.mjs`.

use dpamatch_explore::{
    Barrier, Domains, Ending, FastPath, Page, Removal, Setup, arrive, break_rule, every, explore,
    keep_rules, post, replay, shorten, tell, test_text,
};

/// The rule is removed for the whole process, so this file has only one test.
#[test]
fn a_broken_rule_beside_the_kept_one() {
    let setup = Setup {
        operations: vec![
            post(0, 0, 0, 7),
            post(1, 0, None, 7),
            arrive(0, 0, 0, 7),
            arrive(1, 0, 0, 7),
            arrive(2, 0, 1, 7),
        ],
        handlers: 4,
        bins: 4,
        fast_path: FastPath::Sequence,
        early_check: false,
        removal: Removal::Lazy,
        domains: Domains::Paper,
        barrier: Barrier::Lanes,
    };
    let expected = Ending {
        matches: vec![(0, 0), (1, 1)],
        posted: vec![],
        unexpected: vec![2],
    };
    assert!(break_rule("forcing-ignored"));
    let found = explore(&setup, &expected, 1, 5000, true)
        .violation
        .expect("X5 needs the rule");
    let short = shorten(&setup, &expected, &found);
    assert!(
        short.run.turns.len() < 8,
        "{} turns: {}",
        short.run.turns.len(),
        short.run.turns
    );
    // One preemption breaks it, none does not: handler 2 must overtake.
    let small = Setup {
        handlers: 3,
        ..setup.clone()
    };
    let least = every(&small, &expected, 3, 100_000);
    let turns = least.violation.expect("within three preemptions").run.turns;
    let again = replay(&small, &turns);
    assert_ne!(again.result, Ok(expected.clone()), "{turns}");
    assert!(least.bounds.len() < 3, "{:?}", least.bounds);

    let broken = short
        .run
        .story(&setup)
        .titled("Without".to_owned(), short.what.clone(), true);
    keep_rules();
    let kept = replay(&setup, &short.run.turns);
    assert_eq!(kept.result, Ok(expected.clone()));
    let mut kept = kept
        .story(&setup)
        .titled("With".to_owned(), "</script><b>&".to_owned(), false);
    kept.test = test_text(&setup, &expected, &short.run.turns, Some("forcing-ignored"));
    assert!(
        kept.test
            .contains("assert!(break_rule(\"forcing-ignored\"));"),
        "{}",
        kept.test
    );
    let told = [tell(&broken), tell(&kept)];
    let source = "tools/explore/tests/page.rs".to_owned();
    let page = Page {
        title: "X5".to_owned(),
        source,
        stories: vec![broken, kept],
    }
    .html();
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("page.html");
    std::fs::write(&path, &page).expect("a scratch file");

    // The page fetches nothing, and the data cannot end its element.
    for word in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(word), "{word}");
    }
    assert_eq!(page.matches("</script>").count(), 2);
    let data = page
        .split("id=\"data\">")
        .nth(1)
        .and_then(|rest| rest.split("</script>").next());
    let data: serde_json::Value = serde_json::from_str(data.expect("data")).expect("JSON");
    assert_eq!(data["stories"][1]["verdict"], "</script><b>&");
    for (story, told) in data["stories"]
        .as_array()
        .expect("stories")
        .iter()
        .zip(told)
    {
        let moments = story["moments"].as_array().expect("moments");
        let scenes = story["scenes"].as_array().expect("scenes");
        assert_eq!(
            (moments.len(), told.lines().count()),
            (scenes.len(), moments.len())
        );
        assert!(moments.len() > 10);
        for (moment, line) in moments.iter().zip(told.lines()) {
            assert!(
                line.ends_with(moment["text"].as_str().expect("a text")),
                "{line}"
            );
        }
    }
}

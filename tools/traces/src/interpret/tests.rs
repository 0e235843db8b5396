use super::*;

#[test]
fn arguments_make_operations() {
    let lines = include_str!("tests.txt").lines();
    let calls = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in calls {
        let (call, expected) = line.split_once(" => ").expect("a call and its operation");
        let told = text::with_op(call, |_, op| {
            op.map_or_else(|fault| fault, |op| format!("{op:?}"))
        });
        assert_eq!(told, expected, "{call}");
    }
}

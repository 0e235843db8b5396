use expect_test::expect_file;

use super::*;
use crate::Field;

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

/// A value that no other argument of the call has, except where only few are valid.
fn value(field: &Field, position: usize) -> String {
    let number = 10 + position;
    match (field, field.name()) {
        (Field::AtRoot(inner), _) => value(inner, position),
        (_, "outcount") => "2".to_owned(),
        (_, "index") if !matches!(field, Field::I32s(_)) => "1".to_owned(),
        (_, "indices") => "[1,0]".to_owned(),
        (Field::Requests(_), _) => format!("({0}1,{0}2)", number),
        (Field::Statuses(_), "status") => format!("{{{0}1:{0}2:{0}3}}", number),
        (Field::Statuses(_), _) => format!("{{{0}1:{0}2:{0}3,{0}4:{0}5:{0}6}}", number),
        (Field::I32ss(_), _) => format!("[{0}1,{0}2,{0}3,{0}4,{0}5,{0}6]", number),
        (Field::U16s(_) | Field::I32s(_), _) => format!("[{0}1,{0}2]", number),
        _ => number.to_string(),
    }
}

/// Each call with an operation, and the place of each of its arguments there.
#[test]
fn each_argument_has_its_place_in_the_operation() {
    let mut all = String::new();
    for function in Function::all_of_dumpi().filter(|it| it.recipe() != Recipe::Other) {
        let is_number = |field: &&Field| !matches!(field.name(), "portname" | "command");
        let fields = function.fields().iter().filter(is_number);
        let fields: Vec<_> = fields
            .filter(|field| !matches!(field.name(), "argv" | "commands" | "argvs"))
            .enumerate()
            .map(|(at, field)| format!(" {}={}", field.name(), value(field, at)))
            .collect();
        let call = format!("{function}{}", fields.concat());
        let op = text::with_op(&call, |_, op| op.map(|op| format!("{op:?}")));
        all += &format!("{call}\n    {}\n", op.expect("a valid call"));
    }
    expect_file!["every.txt"].assert_eq(&all);
}

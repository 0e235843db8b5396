//! Arguments of the command line.

use super::{Answer, Error, calls, make, setters, take};
use crate::handle::Handle;
use crate::machine::lock;
use crate::status::Given;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Mutex;

/// Types of values, as the header counts them.
const STRING: u32 = 0;
const BOOLEAN: u32 = 2;

type Callback = Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int>;

/// A text of the program's, which the call copies.
#[derive(Clone, Default)]
struct Text(String);

impl From<*const c_char> for Text {
    fn from(text: *const c_char) -> Self {
        if text.is_null() {
            return Self::default();
        }
        // SAFETY: not null, and so a text, by the API's contract.
        Self(
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned(),
        )
    }
}

#[derive(Clone, Default)]
pub(super) struct Parameter {
    short: Text,
    long: Text,
    arguments: Text,
    description: Text,
    callback: Callback,
    kind: u32,
    mandatory: bool,
}

/// A program's name, its configuration, and the parameters that it has registered.
struct Program {
    configuration: usize,
    parameters: Vec<Parameter>,
}

static PROGRAM: Mutex<Option<Program>> = Mutex::new(None);

setters! {
    Parameter {
        doca_argp_param_set_short_name: *const c_char => short;
        doca_argp_param_set_long_name: *const c_char => long;
        doca_argp_param_set_arguments: *const c_char => arguments;
        doca_argp_param_set_description: *const c_char => description;
        doca_argp_param_set_callback: Callback => callback;
        doca_argp_param_set_type: u32 => kind in STRING..=BOOLEAN;
    }
}

calls! {
    fn doca_argp_init(_name: *const c_char, configuration: *mut c_void) {
        let configuration = configuration as usize;
        *lock(&PROGRAM) = Some(Program { configuration, parameters: Vec::new() });
        Ok(())
    }

    fn doca_argp_param_create(parameter: Given<Handle>) {
        make(parameter, Parameter::default()).map(|_| ())
    }

    fn doca_argp_param_set_mandatory(parameter: Handle) {
        super::with(parameter, |parameter: &mut Parameter| {
            parameter.mandatory = true;
            Ok(())
        })
    }

    fn doca_argp_register_param(parameter: Handle) {
        let mut program = lock(&PROGRAM);
        let Some(program) = &mut *program else {
            return Error::BadState.because("doca_argp_init comes first");
        };
        let new = take(parameter, |new: &mut Parameter| match new.long.0.as_str() {
            "" => Error::InvalidValue.because("a parameter without a long name"),
            _ => Ok(()),
        })?;
        if program.parameters.iter().any(|old| old.long.0 == new.long.0) {
            let why = format!("--{} is registered twice", new.long.0);
            return Error::AlreadyExist.because(why);
        }
        program.parameters.push(new);
        Ok(())
    }

    fn doca_argp_start(count: c_int, words: *const *const c_char) {
        let count = usize::try_from(count).unwrap_or(0);
        if words.is_null() {
            return Error::InvalidValue.because("no arguments");
        }
        // SAFETY: the API's contract: `count` texts, as `main` gets them.
        let words = unsafe { std::slice::from_raw_parts(words, count) };
        let words: Vec<_> = words.iter().skip(1).map(|&word| Text::from(word).0).collect();
        let (parameters, configuration) = match &*lock(&PROGRAM) {
            Some(program) => (program.parameters.clone(), program.configuration),
            None => return Error::BadState.because("doca_argp_init comes first"),
        };
        parse(&parameters, &words, configuration as *mut c_void)
    }

    fn doca_argp_destroy() {
        match lock(&PROGRAM).take() {
            Some(_) => Ok(()),
            None => Error::BadState.because("doca_argp_init comes first"),
        }
    }
}

/// Calls back for each argument, and for none if a mandatory one lacks. The lock is not held: a
/// callback may ask for usage or end the program.
fn parse(parameters: &[Parameter], words: &[String], configuration: *mut c_void) -> Answer {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let bare = word.trim_start_matches('-');
        let (name, value) = match bare.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (bare, None),
        };
        if !word.starts_with('-') || name.is_empty() {
            return Error::InvalidValue.because(format!("{word}: not an option"));
        }
        if matches!(name, "h" | "help") {
            usage(parameters);
            std::process::exit(0);
        }
        let fits = |at: &&Parameter| name == at.long.0 || name == at.short.0;
        let own = matches!(name, "l" | "log-level" | "sdk-log-level");
        let parameter = parameters.iter().find(fits);
        if parameter.is_none() && !own {
            return Error::InvalidValue.because(format!("{word}: no such option (--help)"));
        }
        let value = match value {
            None if parameter.is_some_and(|at| at.kind == BOOLEAN) => Some("1".to_owned()),
            None => words.next().cloned(),
            some => some,
        };
        let Some(value) = value else {
            return Error::InvalidValue.because(format!("{word}: it takes a value"));
        };
        found.extend(parameter.map(|parameter| (parameter, value)));
    }
    let lacks =
        |at: &&Parameter| at.mandatory && !found.iter().any(|(other, _)| other.long.0 == at.long.0);
    if let Some(missing) = parameters.iter().find(lacks) {
        return Error::InvalidValue.because(format!("--{} is mandatory", missing.long.0));
    }
    for (parameter, value) in found {
        call(parameter, &value, configuration)?;
    }
    Ok(())
}

fn call(parameter: &Parameter, value: &str, configuration: *mut c_void) -> Answer {
    let name = &parameter.long.0;
    let Some(callback) = parameter.callback else {
        return Ok(());
    };
    let mut bytes = CString::new(value)
        .unwrap_or_default()
        .into_bytes_with_nul();
    let mut number: c_int = value.parse().unwrap_or(0);
    if parameter.kind != STRING && value.parse::<c_int>().is_err() {
        return Error::InvalidValue.because(format!("--{name}: {value} is not a number"));
    }
    let pointer = match parameter.kind {
        STRING => bytes.as_mut_ptr().cast(),
        _ => (&raw mut number).cast(),
    };
    // SAFETY: the API's contract: the callback takes a value of the parameter's type, which lives
    // during the call, and the program's configuration.
    match unsafe { callback(pointer, configuration) } {
        0 => Ok(()),
        error => {
            let named = super::info::name_of(error);
            Error::InvalidValue.because(format!("--{name}: the program refuses {value} ({named})"))
        }
    }
}

fn usage(parameters: &[Parameter]) {
    let mut text = String::from("Options:\n");
    for at in parameters {
        let short = match at.short.0.as_str() {
            "" => String::new(),
            short => format!("-{short}, "),
        };
        let (long, arguments, description) = (&at.long.0, &at.arguments.0, &at.description.0);
        text += &format!("  {short}--{long} {arguments}\n        {description}\n");
    }
    super::info::say(format_args!("{text}"));
}

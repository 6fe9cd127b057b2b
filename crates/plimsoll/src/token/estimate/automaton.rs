//! The automaton behind the estimates: classes of bytes, states, and the step from each to the next.

/// Room for classes in a row of the table; a power of two, so that a state and a class are joined without arithmetic.
pub(super) const CLASSES: usize = 32;
/// Cells of the table: 128 states.
pub(super) const CELLS: usize = 128 * CLASSES;

// Classes of bytes. Those of other bytes than ASCII are told by the first byte of a character, which tells the script.
const VOWEL: u8 = 0;
const CONSONANT: u8 = 1;
const RARE: u8 = 2;
const UPPER: u8 = 3;
const DIGIT: u8 = 4;
const SPACE: u8 = 5;
const NEWLINE: u8 = 6;
const TAB: u8 = 7;
/// Six kinds of punctuation follow one another.
const STOP: u8 = 8;
const QUOTE: u8 = 9;
const BRACKET: u8 = 10;
const RULE: u8 = 11;
const UNDERSCORE: u8 = 12;
const SIGN: u8 = 13;
const CONTROL: u8 = 14;
/// Later bytes of a character, by range: together with the first they tell Georgian from Khmer, Hindi from Thai.
const CONTINUATION: u8 = 15;
/// Twelve groups of scripts follow one another.
const SCRIPT: u8 = 16;
/// Four more ranges of later bytes follow.
const MORE_CONTINUATION: u8 = 28;
const LAST_CLASS: u8 = 31;

// States, by the first of each kind.
/// A word: length up to 8, times consonants since the last vowel up to 3.
const IN_LOWER: usize = 0;
/// Capitals: 1, 2, 3, 4, 5 to 7, more.
const IN_UPPER: usize = 32;
/// A capital after small letters.
const IN_CAMEL: usize = 38;
/// Letters and digits mixed, once or more often, times the kind of the last: small, capital, digit.
const IN_MIXED: usize = 39;
/// Digits: three, and three again and again.
const IN_DIGIT: usize = 45;
/// Spaces: 1 to 8, more.
const IN_SPACE: usize = 51;
const IN_NEWLINE: usize = 60;
const IN_TAB: usize = 62;
/// Punctuation: the kind of the last, times the length up to 3; then rules of 4, and longer.
const IN_PUNCTUATION: usize = 64;
const IN_RULE: usize = 82;
const IN_CONTROL: usize = 84;
/// Other scripts: the first character, later ones.
const IN_SCRIPT: usize = 86;
const AT_START: usize = 110;

/// The state before any byte, as it is stored: where its row starts.
#[expect(clippy::cast_possible_truncation, reason = "rows of 128 states")]
pub(super) const START: u16 = (AT_START * CLASSES) as u16;

static CLASS_OF: [u8; 256] = classes();
/// Where the row of the next state starts, for each state and class.
pub(super) static STEPS: [u16; CELLS] = steps();

/// The class of a byte.
#[inline]
pub(super) fn class_of(byte: u8) -> u8 {
    CLASS_OF.get(usize::from(byte)).copied().unwrap_or(CONTROL)
}

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn classes() -> [u8; 256] {
    let mut classes = [CONTROL; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let of = byte as u8;
        classes[byte] = match of {
            b'a' | b'e' | b'i' | b'o' | b'u' | b'y' => VOWEL,
            b'j' | b'q' | b'x' | b'z' => RARE,
            b'a'..=b'z' => CONSONANT,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b' ' => SPACE,
            b'\n' | b'\r' => NEWLINE,
            b'\t' => TAB,
            b'.' | b',' | b';' | b':' => STOP,
            b'"' | b'\'' | b'`' => QUOTE,
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' => BRACKET,
            b'-' | b'=' | b'*' | b'#' | b'~' | b'+' => RULE,
            b'_' => UNDERSCORE,
            b'/' | b'\\' | b'|' | b'&' | b'%' | b'$' | b'@' | b'!' | b'?' | b'^' => SIGN,
            0x00..=0x7F => CONTROL,
            0x80..=0x87 => CONTINUATION,
            0x88..=0x8F => MORE_CONTINUATION,
            0x90..=0x9F => MORE_CONTINUATION + 1,
            0xA0..=0xAF => MORE_CONTINUATION + 2,
            0xB0..=0xBF => MORE_CONTINUATION + 3,
            // Latin, Greek and marks, Cyrillic and Armenian, Hebrew and Arabic.
            0xC0..=0xCA => SCRIPT,
            0xCB..=0xCF => SCRIPT + 1,
            0xD0..=0xD5 => SCRIPT + 2,
            0xD6..=0xDF => SCRIPT + 3,
            // Indic and Thai, Georgian to Khmer, symbols, kana, Han, Hangul, wide forms.
            0xE0 => SCRIPT + 4,
            0xE1 => SCRIPT + 5,
            0xE2 => SCRIPT + 6,
            0xE3 => SCRIPT + 7,
            0xE4..=0xE9 => SCRIPT + 8,
            0xEA..=0xED => SCRIPT + 9,
            0xEE..=0xEF => SCRIPT + 10,
            // Emoji and rare Han.
            0xF0..=0xFF => SCRIPT + 11,
        };
        byte += 1;
    }
    classes
}

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn steps() -> [u16; CELLS] {
    let mut steps = [START; CELLS];
    let mut state = 0;
    while state <= AT_START {
        let mut class = 0;
        while class <= LAST_CLASS {
            #[expect(clippy::cast_possible_truncation, reason = "rows of 128 states")]
            let row = (next(state, class) * CLASSES) as u16;
            steps[state * CLASSES + class as usize] = row;
            class += 1;
        }
        state += 1;
    }
    steps
}

const fn next(state: usize, class: u8) -> usize {
    match class {
        VOWEL | CONSONANT | RARE => lower(state, class != VOWEL),
        UPPER => match state {
            IN_LOWER..IN_UPPER => IN_CAMEL,
            IN_UPPER..IN_CAMEL => capped(state, IN_CAMEL),
            IN_CAMEL => IN_UPPER + 1,
            _ => mixed(state, 1, IN_UPPER),
        },
        DIGIT => match state {
            IN_LOWER..IN_MIXED => IN_MIXED + 2,
            IN_DIGIT..IN_SPACE => {
                if state + 1 == IN_SPACE {
                    IN_DIGIT + 3
                } else {
                    state + 1
                }
            }
            _ => mixed(state, 2, IN_DIGIT),
        },
        SPACE => run(state, IN_SPACE, IN_NEWLINE),
        NEWLINE => run(state, IN_NEWLINE, IN_TAB),
        TAB => run(state, IN_TAB, IN_PUNCTUATION),
        STOP | QUOTE | BRACKET | RULE | UNDERSCORE | SIGN => punctuation(state, class),
        CONTROL => run(state, IN_CONTROL, IN_SCRIPT),
        CONTINUATION | MORE_CONTINUATION..=LAST_CLASS => state,
        _ => {
            let first = IN_SCRIPT + 2 * (class - SCRIPT) as usize;
            if state == first || state == first + 1 { first + 1 } else { first }
        }
    }
}

/// The state after a small letter.
const fn lower(state: usize, consonant: bool) -> usize {
    let (length, streak) = match state {
        IN_LOWER..IN_UPPER => (state / 4 + 1, state % 4),
        IN_UPPER..IN_MIXED => (1, 0),
        IN_MIXED..IN_SPACE => return mixed(state, 0, IN_LOWER),
        // After a Latin letter with a diacritic the word goes on.
        IN_SCRIPT..88 => (3, 0),
        _ => (0, 0),
    };
    let length = if length > 7 { 7 } else { length };
    let streak = match (consonant, streak) {
        (false, _) => 0,
        (true, 3) => 3,
        (true, _) => streak + 1,
    };
    IN_LOWER + length * 4 + streak
}

/// The state after a letter or digit (0 small, 1 capital, 2 digit) where letters meet digits, or the given one.
const fn mixed(state: usize, kind: usize, otherwise: usize) -> usize {
    match state {
        IN_MIXED..IN_DIGIT => {
            let last = (state - IN_MIXED) % 3;
            if last == kind { state } else { IN_MIXED + 3 + kind }
        }
        IN_DIGIT..IN_SPACE => IN_MIXED + kind,
        _ => otherwise,
    }
}

const fn punctuation(state: usize, class: u8) -> usize {
    let kind = (class - STOP) as usize;
    let rule = IN_PUNCTUATION + 3 * (RULE - STOP) as usize;
    if class == RULE && state == rule + 2 {
        return IN_RULE;
    }
    match state {
        IN_RULE..IN_CONTROL if class == RULE => IN_RULE + 1,
        IN_RULE..IN_CONTROL => IN_PUNCTUATION + 3 * kind + 2,
        IN_PUNCTUATION..IN_RULE => {
            let length = (state - IN_PUNCTUATION) % 3;
            IN_PUNCTUATION + 3 * kind + if length < 2 { length + 1 } else { 2 }
        }
        _ => IN_PUNCTUATION + 3 * kind,
    }
}

/// The next of a row of states that count a run, or the first.
const fn run(state: usize, first: usize, end: usize) -> usize {
    if state >= first && state < end { capped(state, end) } else { first }
}

const fn capped(state: usize, end: usize) -> usize {
    if state + 1 < end { state + 1 } else { state }
}

/// The number of a state's kind.
pub(super) const fn kind(state: usize) -> usize {
    match state {
        IN_LOWER..IN_UPPER => 0,
        IN_UPPER..IN_CAMEL => 1,
        IN_CAMEL => 2,
        IN_MIXED..IN_DIGIT => 3,
        IN_DIGIT..IN_SPACE => 4,
        IN_SPACE..IN_NEWLINE => 5,
        IN_NEWLINE..IN_TAB => 6,
        IN_TAB..IN_PUNCTUATION => 7,
        IN_PUNCTUATION..IN_CONTROL => 8,
        IN_CONTROL..IN_SCRIPT => 9,
        IN_SCRIPT..AT_START => 10 + (state - IN_SCRIPT) / 2,
        _ => 22,
    }
}

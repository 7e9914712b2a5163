package decimal

import (
	"bytes"
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseNormalisesSpelling(t *testing.T) {
	nines := strings.Repeat("9", MaxDigits)
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "+0.000": "0", "0e1000": "0", "00": "0", "-0e-999999999999": "0",
		"1.50": "1.5", "1e2": "100", "1E+2": "100", "100": "100", "+3": "3", "0001.23": "1.23", ".123": "0.123", "5.": "5",
		"-7.1234": "-7.1234", "-17e5": "-1700000", "-17.4E1": "-174", "12e-1": "1.2", "0.1e1": "1", "1200e-2": "12",
		"9007199254740993":         "9007199254740993",
		nines:                      nines,
		"0.00" + nines:             "0.00" + nines,
		nines + "000":              nines + "000",
		"1E-130":                   "0." + strings.Repeat("0", 129) + "1",
		"-1E-130":                  "-0." + strings.Repeat("0", 129) + "1",
		"1E125":                    "1" + strings.Repeat("0", 125),
		"9." + nines[1:] + "E+125": nines + strings.Repeat("0", 88),
		"0.00001E130":              "1" + strings.Repeat("0", 125),
		"10000E-134":               "0." + strings.Repeat("0", 129) + "1",
	} {
		got, err := Parse(text)
		if err != nil || got.String() != want {
			t.Errorf("Parse(%s) is %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]error{
		"1E126": ErrOverflow, "-1E126": ErrOverflow, "11e125": ErrOverflow, "1e100000000000000000000": ErrOverflow,
		"1E-131": ErrUnderflow, "0.9e-130": ErrUnderflow, "-1e-99999999999999999999": ErrUnderflow,
		strings.Repeat("1", 39): ErrDigits, "3.14159265358979323846264338327950288419": ErrDigits,
		"314159265358979323846264338327950288419e30": ErrDigits,
		"": Error("The parameter cannot be converted to a numeric value"),
	} {
		if got, err := Parse(text); !errors.Is(err, want) {
			t.Errorf("Parse(%q) is %v, %v; want error %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"NaN", "Infinity", "-Infinity", "dog", "-dog", " 1", "1 ", ".", "-", "+", "e5", ".e5", "1e", "1e+", "1.2.3",
		"1e2e3", "1e2.5", "--1", "+-1", "0x10", "1_000", "1,5", "１",
	} {
		want := Error("The parameter cannot be converted to a numeric value: " + text)
		if got, err := Parse(text); !errors.Is(err, want) {
			t.Errorf("Parse(%q) is %v, %v; want error %v", text, got, err, want)
		}
	}
}

func TestSumsAreExact(t *testing.T) {
	nines := strings.Repeat("9", MaxDigits)
	for _, c := range []struct {
		a, b string
		want string
		err  error
	}{
		{a: "0.1", b: "0.2", want: "0.3"},
		{a: "9007199254740993", b: "1", want: "9007199254740994"},
		{a: "1", b: "10000000000000000000000", want: "10000000000000000000001"},
		{a: "1.5", b: "-1.5", want: "0"},
		{a: "999999999999999999", b: "999999999999999999", want: "1999999999999999998"},
		{a: "-999999999999999999", b: "-0.1", want: "-999999999999999999.1"},
		{a: "9e17", b: "-0", want: "9" + strings.Repeat("0", 17)},
		{a: "9e18", b: "9", want: "9000000000000000009"},
		{a: "0", b: "1E-130", want: "0." + strings.Repeat("0", 129) + "1"},
		{a: "1E125", b: "0", want: "1" + strings.Repeat("0", 125)},
		{a: nines, b: "1", want: "1" + strings.Repeat("0", MaxDigits)},
		{a: "1E50", b: "-1", err: ErrDigits},
		{a: "1E125", b: "1E-130", err: ErrDigits},
		{a: "9E125", b: "9E125", err: ErrOverflow},
		{a: "1.1E-130", b: "-1E-130", err: ErrUnderflow},
	} {
		got, err := parse(t, c.a).Add(parse(t, c.b))
		if !errors.Is(err, c.err) || err == nil && got.String() != c.want {
			t.Errorf("%s + %s is %v, %v; want %s, %v", c.a, c.b, got, err, c.want, c.err)
		}
	}
}

// anyDecimal draws numbers of all sizes, with enough small exponents that sums
// often fit.
func anyDecimal() *rapid.Generator[Decimal] {
	return rapid.Custom(func(t *rapid.T) Decimal {
		digits := rapid.OneOf(rapid.StringMatching(`[0-9]{1,9}`), rapid.StringMatching(`[0-9]{1,38}`)).Draw(t, "digits")
		exponent := rapid.OneOf(rapid.IntRange(-12, 12), rapid.IntRange(MinExponent, MaxExponent), rapid.Just(MaxExponent),
			rapid.Just(MinExponent)).Draw(t, "exponent")
		significant := strings.TrimLeft(digits, "0")
		d, err := build(rapid.Bool().Draw(t, "negative"), significant, exponent)
		if err != nil {
			t.Fatalf("building %s at %d: %v", digits, exponent, err)
		}
		return d
	})
}

func rat(t *rapid.T, d Decimal) *big.Rat {
	r, ok := new(big.Rat).SetString(d.String())
	if !ok {
		t.Fatalf("%v is no number", d)
	}
	return r
}

func TestStringParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDecimal().Draw(t, "d")
		back, err := Parse(d.String())
		if err != nil || back != d {
			t.Fatalf("%#v came back as %#v, %v", d, back, err)
		}
	})
}

func TestParseAgreesWithRat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[+-]?[0-9]{1,12}(\.[0-9]{0,12})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "text")
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Skip("not a number to big.Rat")
		}
		d, err := Parse(text)
		if err != nil || rat(t, d).Cmp(want) != 0 {
			t.Fatalf("Parse(%s) is %v, %v; want %v", text, d, err, want)
		}
	})
}

func TestOrderAndSumsAgreeWithRat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyDecimal().Draw(t, "a"), anyDecimal().Draw(t, "b")
		x, y := rat(t, a), rat(t, b)
		if a.Cmp(b) != x.Cmp(y) || a.Sign() != x.Sign() {
			t.Fatalf("Cmp(%v, %v) is %d, Sign is %d", a, b, a.Cmp(b), a.Sign())
		}
		for name, c := range map[string]struct {
			operation func(Decimal) (Decimal, error)
			want      *big.Rat
		}{"sum": {a.Add, new(big.Rat).Add(x, y)}, "difference": {a.Sub, new(big.Rat).Sub(x, y)}} {
			got, err := c.operation(b)
			exact, exactErr := Parse(c.want.FloatString(200))
			switch {
			case err == nil && rat(t, got).Cmp(c.want) != 0:
				t.Fatalf("%s of %v and %v is %v", name, a, b, got)
			case !errors.Is(err, exactErr) || exact != got:
				t.Fatalf("%s of %v and %v is %v, %v; want %v, %v", name, a, b, got, err, exact, exactErr)
			}
		}
	})
}

// Both ways to a sum give the same one, also around the border between them.
func TestShortSumsAreLongSums(t *testing.T) {
	border := rapid.Custom(func(t *rapid.T) Decimal {
		digits := rapid.StringMatching(`[1-9][0-9]{0,19}`).Draw(t, "digits")
		d, err := build(rapid.Bool().Draw(t, "negative"), digits, rapid.IntRange(-2, 19).Draw(t, "exponent"))
		if err != nil {
			t.Fatalf("building %s: %v", digits, err)
		}
		return d
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.OneOf(border, anyDecimal()).Draw(t, "a"), rapid.OneOf(border, anyDecimal()).Draw(t, "b")
		got, err := a.Add(b)
		want, wantErr := a.addLong(b, min(a.unit(), b.unit()))
		if got != want || !errors.Is(err, wantErr) {
			t.Fatalf("%v + %v is %v, %v; the long way gives %v, %v", a, b, got, err, want, wantErr)
		}
	})
}

func TestSortableKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyDecimal().Draw(t, "a"), anyDecimal().Draw(t, "b")
		x, y := a.AppendSortable(nil), b.AppendSortable([]byte("kept"))[len("kept"):]
		if bytes.Compare(x, y) != a.Cmp(b) {
			t.Fatalf("keys %x and %x do not order as %v and %v", x, y, a, b)
		}
		if a != b && bytes.HasPrefix(x, y) {
			t.Fatalf("the key of %v begins with that of %v", a, b)
		}
		if len(x) > 22 {
			t.Fatalf("the key of %v has %d bytes", a, len(x))
		}
	})
}

func parse(t *testing.T, text string) Decimal {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return d
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0", "-1.5e3", "1E-130", ".5", "9e125", "1e-9999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		if back, err := Parse(d.String()); err != nil || back != d {
			t.Fatalf("%q is %v, which reads as %v, %v", text, d, back, err)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	total, errTotal := Parse("48123.75")
	amount, errAmount := Parse("19.9")
	if err := errors.Join(errTotal, errAmount); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := total.Add(amount); err != nil {
			b.Fatal(err)
		}
	}
}

// TestProductsAndQuotientsAgreeWithRat: exact where there is an exact value,
// and an error only where there is none that a Decimal can hold.
func TestProductsAndQuotientsAgreeWithRat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyDecimal().Draw(t, "a"), anyDecimal().Draw(t, "b")
		holds := func(what string, got Decimal, err error, want *big.Rat) {
			if err == nil {
				if rat(t, got).Cmp(want) != 0 {
					t.Fatalf("%v %s %v is %v", a, what, b, got)
				}
				return
			}
			// A value that a Decimal could hold has at most 168 digits after the point.
			if exact, ok := new(big.Float).SetPrec(2000).SetRat(want), want.IsInt() || isDecimal(want); ok {
				if d, parsed := Parse(exact.Text('e', 200)); parsed == nil && rat(t, d).Cmp(want) == 0 {
					t.Fatalf("%v %s %v could be %v, and is %v", a, what, b, d, err)
				}
			}
		}
		product, err := a.Mul(b)
		holds("*", product, err, new(big.Rat).Mul(rat(t, a), rat(t, b)))
		quotient, err := a.Quo(b)
		if b.Sign() == 0 {
			if err == nil {
				t.Fatalf("%v / 0 is %v", a, quotient)
			}
			return
		}
		holds("/", quotient, err, new(big.Rat).Quo(rat(t, a), rat(t, b)))
	})
}

// isDecimal reports whether a number has an end in decimal notation.
func isDecimal(r *big.Rat) bool {
	rest := new(big.Int).Set(r.Denom())
	for _, p := range []int64{2, 5} {
		for q, m := new(big.Int).QuoRem(rest, big.NewInt(p), new(big.Int)); m.Sign() == 0; q, m = new(big.Int).QuoRem(rest, big.NewInt(p), new(big.Int)) {
			rest = q
		}
	}
	return rest.IsInt64() && rest.Int64() == 1
}

func TestQuotients(t *testing.T) {
	for _, tc := range []struct {
		a, b, want string
		err        error
	}{
		{"1", "8", "0.125", nil},
		{"1", "3", "", ErrInexact},
		{"0", "7", "0", nil},
		{"1", "0", "", errDivision},
		{"1E125", "1E-1", "", ErrOverflow},
		{"1E-130", "10", "", ErrUnderflow},
		{"1", "79228162514264337593543950336", "", ErrInexact}, // 2^96: 96 digits
		{"79228162514264337593543950336", "39614081257132168796771975168", "2", nil},
		{"-7", "2", "-3.5", nil},
	} {
		a, err := Parse(tc.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Parse(tc.b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Quo(b)
		if !errors.Is(err, tc.err) || err == nil && got.String() != tc.want {
			t.Errorf("%s / %s is %v, %v", tc.a, tc.b, got, err)
		}
	}
}

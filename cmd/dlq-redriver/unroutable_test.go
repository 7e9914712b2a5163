package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/failure"
	markers "millrace/failure/dynamodb"
	"millrace/internal/awsvalue"
	"millrace/internal/cli"
)

// TestH22_RecordsWithoutAggregate: a misplaced item has a letter of its own, is
// listed beside blocked aggregates, and stays until it has a place or is given
// up; then its letter goes as well.
func TestH22_RecordsWithoutAggregate(t *testing.T) {
	w := incident(t, 1, 0)
	client := sdk.NewFromConfig(w.engine.Config("other"))
	key := event.Item{"pk": event.String("plain"), "sk": event.String("profile")}
	item := key.Clone()
	item["note"] = event.String("confidential")
	if _, err := client.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String(w.flags.Events), Item: awsvalue.ToItem(item)}); err != nil {
		t.Fatal(err)
	}
	w.letters("failures", 2)

	groups := lines[groupLine](t, w.expect(cli.Done, "groups --output json"), "millrace.groups/v1")
	if len(groups) != 2 || groups[0].Records+groups[1].Records != 1 || groups[0].Aggregates+groups[1].Aggregates != 1 {
		t.Fatalf("groups are %+v", groups)
	}
	listed := lines[listLine](t, w.expect(cli.Done, "list --class decode --output json"), "millrace.list/v1")
	if len(listed) != 1 || listed[0].Aggregate != "" || listed[0].State != "unroutable" || !strings.HasPrefix(listed[0].Record, "letter:") || !strings.Contains(listed[0].Text, "7 digits") {
		t.Fatalf("listed are %+v", listed)
	}
	name := listed[0].Record
	for line, wants := range map[string][]string{
		"groups":       {"1 records", name},
		"list":         {"gift-000", name, "unroutable", "decode"},
		"show " + name: {`{"S":"profile"}`, "still-unroutable", "sent", "--show-payloads"},
		"show " + name + " --show-payloads --output json": {`"now":"still-unroutable"`, "confidential", `"sequence":"`},
		"list --limit 1": {"gift-000"},
	} {
		var stderr []string
		if strings.Contains(line, "limit") {
			stderr = []string{"1 more are selected"}
		}
		out := w.expect(cli.Done, line, stderr...)
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s prints %q, want %q", line, out, want)
			}
		}
		if strings.Contains(out, "confidential") != strings.Contains(line, "payloads") {
			t.Errorf("%s prints %q", line, out)
		}
	}

	result := func(code int, line string, stderr ...string) redriveResult {
		t.Helper()
		return lines[redriveResult](t, w.expect(code, line+" --output json", stderr...), "millrace.redrive/v1")[0]
	}
	before := w.control()
	if r := result(cli.Partly, "redrive --class decode"); r.Unroutable != 1 || r.WouldEnd != 0 || r.Records[0].Outcome != "still-unroutable" || r.Selected != 0 {
		t.Errorf("the dry run says %+v", r)
	}
	if r := result(cli.Partly, "redrive --execute "+name, name+" still-unroutable"); r.Ended != 0 || len(r.Records) != 1 {
		t.Errorf("it ended %+v", r)
	}
	if _, err := client.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String(w.flags.Events), Key: awsvalue.ToItem(key)}); err != nil {
		t.Fatal(err)
	}
	if r := result(cli.Partly, "redrive --execute "+name, "--forget-gone ends it"); r.Ended != 0 || r.Records[0].Outcome != "gone" {
		t.Errorf("it ended %+v", r)
	}
	if w.control() != before {
		t.Error("the control table has changed")
	}
	r := result(cli.Done, "redrive --execute --forget-gone --queue failures "+name, "redriving")
	if r.Ended != 1 || r.Records[0].Outcome != "forgotten" || r.LettersDeleted == nil || *r.LettersDeleted != 1 {
		t.Errorf("it ended %+v", r)
	}
	if out := w.expect(cli.Done, "list --class decode"); out != "Nothing that is selected is blocked.\n" {
		t.Errorf("it lists %q", out)
	}
}

// TestH22_RecordThatHasItsPlaceByNow: the item is an event under the layout of
// today. Where its aggregate is blocked it is put on that record; where it is in
// effect, nothing is left to do.
func TestH22_RecordThatHasItsPlaceByNow(t *testing.T) {
	w := incident(t, 1, 0)
	store := markers.New(markers.Options{Client: sdk.NewFromConfig(w.engine.Config("other")), Table: w.flags.Control})
	for _, aggregate := range []string{"gift-000", "plain"} {
		record := event.Record{ID: "of-" + aggregate, Keys: event.Item{"pk": event.String(aggregate), "sk": event.Orders().VersionKey(3)}}
		u := failure.NewUnroutable(w.flags.Group, failure.Source{Table: w.flags.Events}, &record, errors.New("another layout"), time.Now())
		if err := store.PutUnroutable(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	if out := w.expect(cli.Done, "redrive --class decode"); !strings.Contains(out, "would end              2") {
		t.Errorf("the dry run prints\n%s", out)
	}
	if out := w.expect(cli.Done, "show letter:of-plain"); !strings.Contains(out, "version 3 of plain; a redrive brings it in") {
		t.Errorf("it shows\n%s", out)
	}
	if out := w.expect(cli.Done, "redrive --class decode --execute", "redriving"); !strings.Contains(out, "ended                  2") {
		t.Errorf("it prints\n%s", out)
	}
	left := lines[listLine](t, w.expect(cli.Done, "list --output json"), "millrace.list/v1")
	if len(left) != 1 || left[0].Aggregate != "gift-000" || left[0].SeenVersion != 3 {
		t.Errorf("left are %+v", left)
	}
}

package pipeline_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/awsvalue"
	"millrace/internal/localaws"
)

// lettersOf are the letters of one aggregate in the queue.
func (s *story) lettersOf(aggregate string) []failure.Letter {
	s.t.Helper()
	var letters []failure.Letter
	for _, m := range s.engine.Messages(failureQueue) {
		var l failure.Letter
		if err := json.Unmarshal([]byte(m.Body), &l); err != nil {
			s.t.Fatalf("%s is no letter: %v", m.Body, err)
		}
		if l.Aggregate == aggregate {
			letters = append(letters, l)
		}
	}
	return letters
}

// blocked begins a story with one poison and its followers, until its letter
// is out.
func (s *story) blocked(followers int) {
	s.t.Helper()
	s.append("poison", 2+followers)
	s.boot()
	s.until("the poison is blocked and told of", func() bool {
		return s.seen("poison", s.heads["poison"])() && s.noLetters()
	})
}

// ended is how a redrive of the poison ends.
func (s *story) ended(job string) redrive.Result {
	s.t.Helper()
	result, err := s.redrive(job, job).Redrive(s.t.Context(), s.standing()["poison"])
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

// TestH20a_NoShardWaitsForTheQueue: SQS is down while an aggregate is blocked.
// The others go on, the checkpoint passes the block and its followers, and the
// letter goes out when the queue is back.
func TestH20a_NoShardWaitsForTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, "", moment{})
		back := s.engine.Inject(localaws.Fault{Match: func(c localaws.Call) bool { return c.Service == localaws.SQS }, Do: localaws.FailBefore})
		s.append("poison", 4)
		s.append("hot", 5)
		s.boot()
		s.until("the others are applied and the followers on record", func() bool {
			return s.versions("hot") == counted(5) && s.seen("poison", 4)()
		})
		s.append("hot", 5)
		s.until("the others go on", func() bool { return s.versions("hot") == counted(10) })
		<-time.After(10 * time.Second) // renewals
		s.atTheEnd()
		if s.noLetters() || len(s.lettersOf("poison")) > 0 || !s.standing()["poison"].Unsent() {
			t.Errorf("a letter passed a queue that was down: %+v", s.standing()["poison"])
		}
		back()
		s.until("the letter is out", s.noLetters)
		if got := s.lettersOf("poison"); len(got) != 1 || got[0].Version != 2 {
			t.Errorf("the letters are %+v", got)
		}
		s.close()
	})
}

// TestH20b_ALetterOutlivesItsWorker that dies between the block and its letter,
// or between the letter and the note of it.
func TestH20b_ALetterOutlivesItsWorker(t *testing.T) {
	for _, cut := range []moment{{"block of poison", true}, {"letters sent", false}, {"letters sent", true}, {"notified of poison", false}} {
		t.Run(cut.write, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStory(t, "worker", cut)
				s.blocked(1)
				if !s.first.dead() {
					t.Fatal("the worker lives")
				}
				s.letters()
				s.close()
			})
		})
	}
}

// TestH20e_AFailedRedriveHasALetterOfItsOwn that tells of the version where it
// failed.
func TestH20e_AFailedRedriveHasALetterOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, "", moment{})
		s.blocked(3)
		s.again.Store(4) // the fix for version 2 has a fault of its own
		s.fixed.Store(true)
		if got := s.ended("job"); got.Outcome != redrive.Failed || got.To != 3 {
			t.Fatalf("the redrive ended %+v", got)
		}
		s.until("the new block is told of", s.noLetters)
		letters := s.lettersOf("poison")
		if len(letters) != 2 || letters[1].Version != 4 || letters[1].BlockID == letters[0].BlockID || letters[1].LetterID == letters[0].LetterID {
			t.Errorf("the letters are %+v", letters)
		}
		if m := s.standing()["poison"]; m.BlockedVersion != 4 || m.SeenVersion != 5 {
			t.Errorf("the marker is %+v", m)
		}
		s.close()
	})
}

// remove deletes an event, as its time to live does.
func (s *story) remove(aggregate string, version uint64) {
	s.t.Helper()
	key := awsvalue.ToItem(event.Item{"pk": event.String(aggregate), "sk": event.Orders().VersionKey(version)})
	if _, err := dynamodb.NewFromConfig(s.engine.Config("ttl")).DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(eventsTable), Key: key,
	}); err != nil {
		s.t.Fatal(err)
	}
}

// restore puts an event back where it was.
func (s *story) restore(item event.Item) {
	s.t.Helper()
	if _, err := dynamodb.NewFromConfig(s.engine.Config("operator")).PutItem(s.t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(eventsTable), Item: awsvalue.ToItem(item), ConditionExpression: aws.String("attribute_not_exists(pk)"),
	}); err != nil {
		s.t.Fatal(err)
	}
}

// TestH23_AFollowerThatIsGoneIsNeverSkipped: the events outlived the block by
// too little. The redrive applies what is there, says what is not, and goes on
// when it is.
func TestH23_AFollowerThatIsGoneIsNeverSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, "", moment{})
		s.blocked(4)
		gone := s.engine.Item(eventsTable, event.Item{"pk": event.String("poison"), "sk": event.Orders().VersionKey(4)})
		s.remove("poison", 4)
		s.fixed.Store(true)
		got := s.ended("job-1")
		if got.Outcome != redrive.Failed || got.To != 3 || event.ClassOf(got.Err) != event.Gap || !strings.Contains(got.Err.Error(), "version 4") {
			t.Fatalf("the redrive ended %+v", got)
		}
		m := s.standing()["poison"]
		if m.BlockedVersion != 4 || m.SeenVersion != 6 || m.Cause.Class != "gap" || s.versions("poison") != counted(3) {
			t.Errorf("the marker is %+v, in effect is %s", m, s.versions("poison"))
		}
		s.restore(gone)
		s.until("all is applied", func() bool {
			if _, stands := s.standing()["poison"]; stands {
				s.ended("job-2")
			}
			return s.versions("poison") == counted(6) && len(s.standing()) == 0 && s.noLetters()
		})
		s.close()
	})
}

// TestH23_TheBlockedVersionComesBackFromItsLetter: a queue cannot be asked for
// one letter, so no redrive looks there; but what the letter carries is the
// event as it was, and can be put back by hand.
func TestH23_TheBlockedVersionComesBackFromItsLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, "", moment{})
		s.blocked(2)
		was := s.engine.Item(eventsTable, event.Item{"pk": event.String("poison"), "sk": event.Orders().VersionKey(2)})
		s.remove("poison", 2)
		s.fixed.Store(true)
		if got := s.ended("job-1"); got.Outcome != redrive.Failed || got.To != 1 || event.ClassOf(got.Err) != event.Gap {
			t.Fatalf("the redrive ended %+v", got)
		}
		letter := s.lettersOf("poison")[0]
		if !letter.Record.Item.Equal(was) || failure.Hash(letter.Record.Item) != letter.Record.SHA256 {
			t.Fatalf("the letter carries %+v, the event was %v", letter.Record, was)
		}
		s.restore(letter.Record.Item)
		s.until("all is applied", func() bool {
			if _, stands := s.standing()["poison"]; stands {
				s.ended("job-2")
			}
			return s.versions("poison") == counted(4) && len(s.standing()) == 0 && s.noLetters()
		})
		s.close()
		s.atTheEnd()
	})
}

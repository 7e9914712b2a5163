package ecs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"millrace/config"
)

// TestTasks: what a task must be, whatever else changes.
func TestTasks(t *testing.T) {
	for _, name := range []string{"worker.yaml", "redrive.yaml"} {
		t.Run(name, func(t *testing.T) {
			x := load(t, name)
			const container = "Resources/Task/Properties/ContainerDefinitions/0/"
			for path, want := range map[string]string{
				container + "ReadonlyRootFilesystem":                                           "true",
				container + "User":                                                             "65532:65532",
				container + "Privileged":                                                       "false",
				container + "LinuxParameters/InitProcessEnabled":                               "false",
				container + "LinuxParameters/Capabilities":                                     "map[Drop:[ALL]]",
				container + "Ulimits":                                                          "[map[HardLimit:65536 Name:nofile SoftLimit:65536]]",
				container + "LogConfiguration/LogDriver":                                       "awslogs",
				container + "StopTimeout":                                                      "120",
				"Resources/Task/Properties/NetworkMode":                                        "awsvpc",
				"Resources/Task/Properties/RequiresCompatibilities":                            "[FARGATE]",
				"Resources/Task/Properties/RuntimePlatform":                                    "map[CpuArchitecture:ARM64 OperatingSystemFamily:LINUX]",
				"Resources/Task/Properties/TaskRoleArn":                                        "<TaskRole.Arn>",
				"Resources/Task/Properties/ExecutionRoleArn":                                   "<ExecutionRole.Arn>",
				container + "Image":                                                            "<Image>",
				container + "LogConfiguration/Options/awslogs-group":                           "millrace/orders",
				container + "LogConfiguration/Options/awslogs-region":                          "eu-central-1",
				"Resources/Log/DeletionPolicy":                                                 "Retain",
				"Resources/Log/UpdateReplacePolicy":                                            "Retain",
				"Resources/TaskRole/Properties/AssumeRolePolicyDocument/Statement/0/Condition": "map[StringEquals:map[aws:SourceAccount:123456789012]]",
			} {
				if strings.HasSuffix(path, "awslogs-group") {
					want = "<Log>"
				}
				if got := fmt.Sprint(x.at(path)); got != want {
					t.Errorf("%s is %s, want %s", path, got, want)
				}
			}
			if mode := fmt.Sprint(x.at(container + "LogConfiguration/Options/mode")); mode != "blocking" && mode != "non-blocking" {
				t.Errorf("the log's mode is left to an account setting: %s", mode)
			}
			if days := fmt.Sprint(x.at("Resources/Log/Properties/RetentionInDays")); days == "" || days == "<nil>" {
				t.Error("the log is kept for ever")
			}
			for _, one := range x.at(container + "Environment").([]tree) {
				name := fmt.Sprint(one.(map[string]tree)["Name"])
				for _, secret := range []string{"KEY", "SECRET", "TOKEN", "PASSWORD"} {
					if strings.Contains(strings.ToUpper(name), secret) {
						t.Errorf("%s is a secret in the environment", name)
					}
				}
			}
		})
	}
}

// TestService: a deployment starts the new before it stops the old, goes back by
// itself, and has no address of its own.
func TestService(t *testing.T) {
	x := load(t, "worker.yaml")
	const service = "Resources/Service/Properties/"
	for path, want := range map[string]string{
		service + "NetworkConfiguration/AwsvpcConfiguration/AssignPublicIp":    "DISABLED",
		service + "EnableExecuteCommand":                                       "false",
		service + "DeploymentConfiguration/MinimumHealthyPercent":              "100",
		service + "DeploymentConfiguration/MaximumPercent":                     "200",
		service + "DeploymentConfiguration/DeploymentCircuitBreaker":           "map[Enable:true Rollback:true]",
		"Resources/Task/Properties/ContainerDefinitions/0/HealthCheck/Command": "[CMD /shard-reader healthcheck -c /etc/millrace/millrace.yaml]",
		"Resources/Task/Properties/ContainerDefinitions/0/Command":             "[run -c /etc/millrace/millrace.yaml]",
	} {
		if got := fmt.Sprint(x.at(path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if len(load(t, "redrive.yaml").resources("AWS::ECS::Service")) != 0 {
		t.Error("a redrive is run once, and is no service")
	}
}

// environment is what a task has in its environment.
func environment(x *template) func(string) (string, bool) {
	values := map[string]string{}
	for _, one := range x.at("Resources/Task/Properties/ContainerDefinitions/0/Environment").([]tree) {
		pair := one.(map[string]tree)
		values[fmt.Sprint(pair["Name"])] = fmt.Sprint(pair["Value"])
	}
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

// TestStopTimeOut: a worker that drains ends before it is killed, with time to
// spare, and the configuration that the image carries takes the names that the
// tasks have in their environment.
func TestStopTimeOut(t *testing.T) {
	for _, name := range []string{"worker.yaml", "redrive.yaml"} {
		x := load(t, name)
		c, err := config.Load("millrace.yaml", environment(x))
		if err != nil {
			t.Fatal(err)
		}
		seconds, err := strconv.Atoi(fmt.Sprint(x.at("Resources/Task/Properties/ContainerDefinitions/0/StopTimeout")))
		if stop := time.Duration(seconds) * time.Second; err != nil || stop > 120*time.Second || c.Drain > stop-10*time.Second {
			t.Errorf("%s stops after %v, the drain takes up to %v; Fargate gives 120 s at most", name, stop, c.Drain)
		}
		p := c.Pipelines[0]
		if c.Group != "orders" || c.Control.Table != "millrace" || p.Stream.Table != "orders-events" || p.Sinks[0].ReadModel.Table != "orders-view" || c.Failure.Queue != "orders-failures" || c.HTTP.Listen != "127.0.0.1:9464" {
			t.Errorf("%s makes the configuration %+v", name, c)
		}
	}
}

// TestStorage: what holds what exists once outlives the stack, and can be brought
// back.
func TestStorage(t *testing.T) {
	x := load(t, "storage.yaml")
	tables := x.resources("AWS::DynamoDB::Table")
	if len(tables) != 3 {
		t.Errorf("there are %d tables", len(tables))
	}
	for name, r := range tables {
		p := r["Properties"].(map[string]tree)
		for _, kept := range []tree{r["DeletionPolicy"], r["UpdateReplacePolicy"]} {
			if kept != "Retain" {
				t.Errorf("%s goes with the stack", name)
			}
		}
		if p["DeletionProtectionEnabled"] != true || p["BillingMode"] != "PAY_PER_REQUEST" || p["TimeToLiveSpecification"] != nil ||
			fmt.Sprint(p["PointInTimeRecoverySpecification"]) != "map[PointInTimeRecoveryEnabled:true]" || fmt.Sprint(p["SSESpecification"]) != "map[SSEEnabled:true]" {
			t.Errorf("%s is %v", name, p)
		}
	}
	if got := fmt.Sprint(x.at("Resources/Events/Properties/StreamSpecification")); got != "map[StreamViewType:NEW_IMAGE]" {
		t.Errorf("the events' stream is %s", got)
	}
	queue := x.resources("AWS::SQS::Queue")["FailureQueue"]
	p := queue["Properties"].(map[string]tree)
	if queue["DeletionPolicy"] != "Retain" || fmt.Sprint(p["MessageRetentionPeriod"]) != "1209600" || p["SqsManagedSseEnabled"] != true || p["RedrivePolicy"] != nil {
		t.Errorf("the queue is %v", queue)
	}
}

// TestNoWildcards: one action takes no resource, and nothing else is for all.
func TestNoWildcards(t *testing.T) {
	for _, name := range []string{"worker.yaml", "redrive.yaml"} {
		for _, role := range []string{"TaskRole", "ExecutionRole"} {
			for _, g := range grants(load(t, name), role) {
				if strings.Contains(g.action, "*") {
					t.Errorf("%s: %s allows %s", name, role, g.action)
				}
				if strings.Contains(strings.TrimSuffix(g.resource, "/stream/*"), "*") && g.action != "ecr:GetAuthorizationToken" {
					t.Errorf("%s: %s allows %s on %s", name, role, g.action, g.resource)
				}
			}
		}
	}
}

// grant is one action on one resource that a role allows.
type grant struct{ action, resource string }

func grants(x *template, role string) []grant {
	x.t.Helper()
	var all []grant
	policies, _ := x.at("Resources/" + role + "/Properties/Policies").([]tree)
	for _, policy := range policies {
		statements, _ := policy.(map[string]tree)["PolicyDocument"].(map[string]tree)["Statement"].([]tree)
		for _, one := range statements {
			s := one.(map[string]tree)
			if s["Effect"] != "Allow" {
				x.t.Errorf("%s: a statement of %s does not allow", x.name, role)
			}
			for _, action := range texts(s["Action"]) {
				for _, resource := range texts(s["Resource"]) {
					all = append(all, grant{action, resource})
				}
			}
		}
	}
	if len(all) == 0 {
		x.t.Fatalf("%s: %s allows nothing", x.name, role)
	}
	slices.SortFunc(all, func(a, b grant) int { return strings.Compare(a.action+a.resource, b.action+b.resource) })
	return all
}

"""What runs by the clock.

Belongs here: schedules. Does not belong here: the jobs they start (`jobs.py`).
"""

from collections.abc import Iterator

import dagster as dg

from pipeline import jobs, partitions


@dg.schedule(
    job=jobs.refresh_publisher,
    cron_schedule="0 3 * * 1",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Every Monday at 03:00 UTC: crawl every publisher anew; what changed is rebuilt by the automation.",
)
def weekly_refresh(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
    week = context.scheduled_execution_time.strftime("%G-W%V")
    for key in context.instance.get_dynamic_partitions(partitions.publishers.name or ""):
        yield dg.RunRequest(run_key=f"{week}-{key}", partition_key=key)
